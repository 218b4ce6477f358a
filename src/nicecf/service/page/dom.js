// Small things that every part of the page is built with.

const SVG = "http://www.w3.org/2000/svg";

// An element with its properties and children. Of properties, `on...` are listeners, `style` is an object, a value of
// null, undefined or false leaves one out, and what an element has as a property (value, checked) is set as such.
export function h(tag, properties = {}, ...children) {
  return build(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return build(document.createElementNS(SVG, tag), properties, children);
}

function build(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (["value", "checked", "disabled", "hidden", "open", "selected"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replaceChildren(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

let numbered = 0;

// An id that nothing else on the page has.
export function freshId(name) {
  numbered += 1;
  return `ncf-${name}-${numbered}`;
}

// Hands a file to the person; nothing leaves the browser.
export function download(name, text, kind) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
