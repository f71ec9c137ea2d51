// The picture itself, with pan and zoom, and frames around what is chosen.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { GraphAnswer, GraphNode } from "./api";
import { PanZoom, followGestures } from "./pan";
import { svgElement } from "./svg";

export interface MapControl { frame(nodes: GraphNode[]): void }

interface GraphMapProps {
  answer: GraphAnswer | null; marked: string[]; control: { current: MapControl | null }; clicked: (node: GraphNode | null) => void;
}

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 60;
// The card of the chosen object covers this much of the picture.
const CARD_WIDTH = 352;

export const GraphMap = ({ answer, marked, control, clicked }: GraphMapProps) => {
  const port = useRef<HTMLDivElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const view = useRef<PanZoom | null>(null);
  const latest = useRef({ answer, clicked });
  latest.current = { answer, clicked };

  useLayoutEffect(() => {
    const panZoom = new PanZoom(port.current!, layer.current!);
    view.current = panZoom;
    control.current = {
      frame: (nodes) => {
        const [left, top] = [Math.min(...nodes.map((node) => node.x)), Math.min(...nodes.map((node) => node.y))];
        const [right, bottom] = [Math.max(...nodes.map((node) => node.x + node.width)), Math.max(...nodes.map((node) => node.y + node.height))];
        panZoom.frame({ x: left - MARGIN, y: top - MARGIN, width: right - left + 2 * MARGIN, height: bottom - top + 2 * MARGIN }, 1.6, CARD_WIDTH);
      },
    };
    return followGestures(port.current!, panZoom, (x, y) => {
      const hit = latest.current.answer?.nodes.findLast((node) => x >= node.x && x <= node.x + node.width && y >= node.y && y <= node.y + node.height);
      latest.current.clicked(hit ?? null);
    });
  }, []);

  useEffect(() => {
    const element = answer && answer.svg !== "" ? svgElement(answer.svg) : null;
    if (element) view.current?.show(element, false);
    else layer.current?.replaceChildren();
  }, [answer]);

  useEffect(() => {
    const svg = layer.current?.querySelector("svg");
    svg?.querySelectorAll(".chosen").forEach((frame) => frame.remove());
    for (const node of answer?.nodes.filter((one) => marked.includes(one.id)) ?? []) {
      const frame = document.createElementNS(SVG, "rect");
      frame.setAttribute("class", "chosen");
      for (const [name, value] of Object.entries({ x: node.x - 4, y: node.y - 4, width: node.width + 8, height: node.height + 8, rx: 6 })) frame.setAttribute(name, String(value));
      svg?.append(frame);
    }
  }, [answer, marked]);

  return (
    <div class="port" ref={port} tabIndex={0} role="application" aria-roledescription="picture" aria-label="graph of objects: arrow keys move, plus and minus zoom, 0 shows all">
      <div class="layer" ref={layer} />
      <div class="zoom" onPointerDown={(event) => event.stopPropagation()}>
        <button aria-label="zoom in" onClick={() => view.current?.zoom(1.25)}>+</button>
        <button aria-label="zoom out" onClick={() => view.current?.zoom(0.8)}>−</button>
        <button aria-label="show all" onClick={() => view.current?.fit()}>⤢</button>
      </div>
    </div>
  );
};
