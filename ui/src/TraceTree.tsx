// The conditions of a rule as a tree: arrow keys walk through it, and a node marks its two places.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Trace, TraceNode } from "./api";
import { pairOf, placeText, verdictGlyphs } from "./rows";
import { session } from "./session";
import { useStore } from "./store";

const MAX_NODES_OPEN_AT_FIRST = 40;

interface FlatNode { node: TraceNode; level: number; path: string; isOpen: boolean; parent: number }

const verdictWords: Record<string, string> = { yes: "met", no: "not met", error: "error", done: "done", "not looked at": "not looked at" };

const countOf = (nodes: TraceNode[]): number => nodes.reduce((sum, node) => sum + 1 + countOf(node.children), 0);

const flatten = (nodes: TraceNode[], isOpen: (path: string, node: TraceNode) => boolean): FlatNode[] => {
  const flat: FlatNode[] = [];
  const walk = (list: TraceNode[], level: number, prefix: string, parent: number): void => {
    list.forEach((node, at) => {
      const path = `${prefix}${at}.`;
      const open = node.children.length > 0 && isOpen(path, node);
      const place = flat.push({ node, level, path, isOpen: open, parent }) - 1;
      if (open) walk(node.children, level + 1, path, place);
    });
  };
  walk(nodes, 1, "", -1);
  return flat;
};

export const TraceTree = ({ trace, label }: { trace: Trace; label: string }) => {
  const [toggled, setToggled] = useState<Record<string, boolean>>({});
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const wantsFocus = useRef(false);
  const cursor = useStore(session, (value) => value.cursor);
  const isSmall = useMemo(() => countOf(trace.trace) <= MAX_NODES_OPEN_AT_FIRST, [trace]);
  const flat = flatten(trace.trace, (path, node) => toggled[path] ?? (isSmall || node.verdict === "no" || node.verdict === "error"));

  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    list.current?.querySelector<HTMLElement>(`[data-at="${active}"]`)?.focus();
  }, [active, toggled]);

  const point = (flatNode: FlatNode): void => session.set({ pointed: pairOf(flatNode.node, trace) });
  const toggle = (at: FlatNode, isOpen: boolean): void => { wantsFocus.current = true; setToggled({ ...toggled, [at.path]: isOpen }); };
  const move = (to: number): void => { wantsFocus.current = true; setActive(Math.max(0, Math.min(flat.length - 1, to))); };
  const press = (event: KeyboardEvent): void => {
    const at = flat[active];
    if (!at) return;
    const has = at.node.children.length > 0;
    switch (event.key) {
      case "ArrowDown": move(active + 1); break;
      case "ArrowUp": move(active - 1); break;
      case "Home": move(0); break;
      case "End": move(flat.length - 1); break;
      case "ArrowRight": if (has && !at.isOpen) toggle(at, true); else if (has) move(active + 1); break;
      case "ArrowLeft": if (has && at.isOpen) toggle(at, false); else if (at.parent >= 0) move(at.parent); break;
      case "Enter": case " ": if (has) toggle(at, !at.isOpen); else point(at); break;
      default: return;
    }
    event.preventDefault();
  };
  const leave = (): void => session.set({ pointed: null });

  return (
    <ul class="trace" role="tree" aria-label={label} ref={list} onKeyDown={press} onMouseLeave={leave}>
      {flat.map((at, place) => {
        const { node } = at;
        const isUsed = cursor !== null && node.ruleLine === cursor.line && node.ruleFile === cursor.file;
        const places = [placeText(node.ruleFile, node.ruleLine), placeText(node.objectFile, node.objectLine)].filter(Boolean).join("  ↔  ");
        return (
          <li key={at.path} role="treeitem" data-at={place} data-level={at.level} tabIndex={place === active ? 0 : -1}
            aria-level={at.level} aria-selected={place === active} {...(node.children.length > 0 ? { "aria-expanded": at.isOpen } : {})}
            class={`node v-${node.verdict.replaceAll(" ", "-")} ${isUsed ? "used" : ""}`} title={places}
            style={{ paddingLeft: `${(at.level - 1) * 14 + 4}px` }}
            onMouseEnter={() => point(at)} onFocus={() => { setActive(place); point(at); }} onBlur={leave}
            onClick={() => { setActive(place); point(at); if (node.children.length > 0) setToggled({ ...toggled, [at.path]: !at.isOpen }); }}>
            <span class="fold" aria-hidden="true">{node.children.length > 0 ? (at.isOpen ? "▾" : "▸") : ""}</span>
            <span class="glyph" role="img" aria-label={verdictWords[node.verdict] ?? node.verdict}>{verdictGlyphs[node.verdict] ?? "·"}</span>
            <span class="words">
              <code>{node.what}</code>
              {node.found !== "" && <span class="found"> → <code>{node.found}</code></span>}
              {node.wanted !== "" && <span class="wanted"> {node.wanted}</span>}
              {node.help !== "" && <span class="help">{node.help}</span>}
              {(node.verdict === "no" || node.verdict === "error") && node.children.length === 0 && places !== "" && <span class="places">{places}</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
};
