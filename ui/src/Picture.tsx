// A small picture that fits its column.
import { useLayoutEffect, useRef } from "preact/hooks";
import { svgElement } from "./svg";

export const Picture = ({ svg, label }: { svg: string; label: string }) => {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = svgElement(svg);
    element?.setAttribute("aria-label", label);
    element?.setAttribute("role", "img");
    host.current?.replaceChildren(...(element ? [element] : ["the picture cannot be shown"]));
  }, [svg, label]);
  return <div class="picture" ref={host} />;
};
