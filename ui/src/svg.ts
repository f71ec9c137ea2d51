// Pictures of the server as elements of the page. Only what draws is let through: no script, no style, no address.

const SVG = "http://www.w3.org/2000/svg";
const elements = new Set(["svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc", "defs", "marker", "clipPath"]);
const attributes = new Set([
  "class", "id", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "d", "points", "transform", "viewBox", "dx", "dy",
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "text-anchor", "font-size",
  "font-weight", "font-family", "font-style", "dominant-baseline", "role", "tabindex", "aria-label", "aria-hidden", "marker-end", "marker-start", "refX", "refY",
  "markerWidth", "markerHeight", "orient", "paint-order",
]);
// An attribute may refer to a part of the same picture, and to nothing else.
const hasAddress = (value: string): boolean => /url\s*\(\s*(?!['"]?#)|javascript:|data:/i.test(value);

const copy = (from: Element): Element | null => {
  if (from.namespaceURI !== SVG || !elements.has(from.localName)) return null;
  const to = document.createElementNS(SVG, from.localName);
  for (const { name, value } of from.attributes) {
    if ((attributes.has(name) || /^data-[a-z]+$/.test(name)) && !hasAddress(value)) to.setAttribute(name, value);
  }
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) to.append(child.textContent ?? "");
    else if (child instanceof Element) {
      const kept = copy(child);
      if (kept) to.append(kept);
    }
  }
  return to;
};

/// The picture, or null if the text is none.
export const svgElement = (text: string): SVGSVGElement | null => {
  // The page brings the style of pictures; a style element would be reported as a violation of the page's policy when it is parsed.
  const plain = text.replace(/<style[^>]*>[^<]*<\/style>/g, "");
  const parsed = new DOMParser().parseFromString(plain, "image/svg+xml");
  if (parsed.querySelector("parsererror")) return null;
  return copy(parsed.documentElement) as SVGSVGElement | null;
};
