// Pan and zoom of a large picture. A gesture only moves a finished layer; the picture is drawn sharp again when it rests.

const REST_DELAY_MILLIS = 160;
const MAX_SCALE = 5;
const FAR_SCALE = 0.45;

export interface Box { x: number; y: number; width: number; height: number }

export class PanZoom {
  x = 0;
  y = 0;
  scale = 1;
  private drawn = 1;
  private rest = 0;
  private isAsked = false;
  private width = 1;
  private height = 1;
  private svg: SVGSVGElement | null = null;

  constructor(private readonly port: HTMLElement, private readonly layer: HTMLElement) {}

  /// Shows another picture; keeps the view if asked, else shows all of it.
  show(svg: SVGSVGElement, keepsView: boolean): void {
    const [, , width, height] = (svg.getAttribute("viewBox") ?? "0 0 1 1").split(/\s+/).map(Number);
    this.width = width || 1;
    this.height = height || 1;
    this.svg = svg;
    svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    this.layer.replaceChildren(svg);
    if (!keepsView) this.fit();
    this.sharpen();
  }

  fit(): void { this.frame({ x: 0, y: 0, width: this.width, height: this.height }, 1.4); }

  /// Shows a part of the picture in the middle, at most `most` times its size. `right` pixels at the side are covered.
  frame(box: Box, most = 1.6, right = 0): void {
    const { clientHeight } = this.port;
    const width = this.port.clientWidth > 2 * right ? this.port.clientWidth - right : this.port.clientWidth;
    this.scale = Math.min(most, (width - 24) / box.width, (clientHeight - 24) / box.height);
    this.x = width / 2 - (box.x + box.width / 2) * this.scale;
    this.y = clientHeight / 2 - (box.y + box.height / 2) * this.scale;
    this.move();
  }

  pan(dx: number, dy: number): void { this.x += dx; this.y += dy; this.move(); }

  zoom(by: number, px = this.port.clientWidth / 2, py = this.port.clientHeight / 2): void {
    const least = Math.min(0.5, 0.5 * Math.min(this.port.clientWidth / this.width, this.port.clientHeight / this.height));
    const next = Math.max(least, Math.min(MAX_SCALE, this.scale * by));
    this.x = px - (px - this.x) * next / this.scale;
    this.y = py - (py - this.y) * next / this.scale;
    this.scale = next;
    this.move();
  }

  /// A point of the port in the coordinates of the picture.
  pointAt(px: number, py: number): { x: number; y: number } { return { x: (px - this.x) / this.scale, y: (py - this.y) / this.scale }; }

  private move(): void {
    window.clearTimeout(this.rest);
    this.rest = window.setTimeout(() => this.sharpen(), REST_DELAY_MILLIS);
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => { this.isAsked = false; this.place(); });
  }

  private place(): void {
    this.layer.style.transform = `translate(${this.x}px,${this.y}px) scale(${this.scale / this.drawn})`;
    this.port.dataset.scale = this.scale.toFixed(4);
  }

  private sharpen(): void {
    if (!this.svg) return;
    if (this.drawn !== this.scale || !this.svg.hasAttribute("data-drawn")) {
      this.drawn = this.scale;
      this.svg.setAttribute("data-drawn", "");
      this.svg.setAttribute("width", String(this.width * this.scale));
      this.svg.setAttribute("height", String(this.height * this.scale));
      this.port.classList.toggle("far", this.scale < FAR_SCALE);
    }
    this.place();
  }
}

/// Mouse, wheel, touch and keys of a port. Returns a function that removes them again.
export const followGestures = (port: HTMLElement, view: PanZoom, click: (x: number, y: number) => void): (() => void) => {
  const pointers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (pointers.size === 1) moved = 0;
    port.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    moved += Math.abs(dx) + Math.abs(dy);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const distance = (point: { x: number; y: number }): number => Math.hypot(point.x - other.x, point.y - other.y) || 1;
      const bounds = port.getBoundingClientRect();
      view.zoom(distance({ x: event.clientX, y: event.clientY }) / distance(last), other.x - bounds.left, other.y - bounds.top);
    } else view.pan(dx, dy);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const up = (event: PointerEvent): void => {
    if (!pointers.delete(event.pointerId) || event.type !== "pointerup" || moved > 4) return;
    const bounds = port.getBoundingClientRect();
    const at = view.pointAt(event.clientX - bounds.left, event.clientY - bounds.top);
    click(at.x, at.y);
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const bounds = port.getBoundingClientRect();
    view.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.clientX - bounds.left, event.clientY - bounds.top);
  };
  const steps: Record<string, () => void> = {
    ArrowLeft: () => view.pan(60, 0), ArrowRight: () => view.pan(-60, 0), ArrowUp: () => view.pan(0, 60), ArrowDown: () => view.pan(0, -60),
    "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), "0": () => view.fit(),
  };
  const key = (event: KeyboardEvent): void => {
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key];
    if (step) { event.preventDefault(); step(); }
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, wheel, keydown: key } as Record<string, EventListener | unknown>;
  for (const [name, listener] of Object.entries(listeners)) port.addEventListener(name, listener as EventListener, { passive: false });
  return () => { for (const [name, listener] of Object.entries(listeners)) port.removeEventListener(name, listener as EventListener); };
};
