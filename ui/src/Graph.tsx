// Objects and their relations as a picture: search, findings, focus, and why a pattern does not match.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Finding, type GraphAnswer, type GraphNode, get, messageOf, post } from "./api";
import { download } from "./Drawer";
import { GraphMap, type MapControl } from "./GraphMap";
import { GraphCard, GraphSide } from "./GraphSide";
import { session } from "./session";
import { useStore } from "./store";

export interface GraphOptions {
  focus: string; depth: number; direction: "both" | "in" | "out"; namespaces: string[]; kinds: string[]; edges: string[]; allEdges: boolean;
  each: boolean; appsAbove: number; open: string[]; findings: boolean; pattern: string; near: boolean; finding: number;
}

export const plainOptions: GraphOptions = {
  focus: "", depth: 2, direction: "both", namespaces: [], kinds: [], edges: [], allEdges: false, each: false, appsAbove: 150, open: [], findings: true,
  pattern: "", near: false, finding: 0,
};

/// The key in `open` of a namespace that is drawn as one box.
export const namespaceKey = (name: string): string => `namespace:${name}`;

const DRAW_PAUSE_MILLIS = 150;
const MAX_PROBLEMS = 3;

const queryOf = (options: GraphOptions & { standalone?: boolean }): string => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(options)) {
    if (Array.isArray(value)) for (const one of value) query.append(key, one);
    else query.set(key, String(value));
  }
  return query.toString();
};

export const Graph = () => {
  const about = useStore(session, (value) => value.about);
  const files = useStore(session, (value) => value.files);
  const isOwn = about?.mode === "cluster" || about?.features.graphOfInput === true;
  const [text, setText] = useState<string | null>(null);
  const [isTexts, setIsTexts] = useState(false);
  const [options, setOptions] = useState<GraphOptions>(plainOptions);
  const [answer, setAnswer] = useState<GraphAnswer | null>(null);
  const [failure, setFailure] = useState("");
  const [isDrawing, setIsDrawing] = useState(true);
  const [selected, setSelected] = useState<GraphNode | null>(null);
  const [marked, setMarked] = useState<string[]>([]);
  const map = useRef<MapControl | null>(null);
  const usesOwn = isOwn && !isTexts;

  const draw = (more: { standalone?: boolean }, signal?: AbortSignal): Promise<GraphAnswer> => {
    if (usesOwn) return get<GraphAnswer>(`graph?${queryOf({ ...options, ...more })}`, signal);
    const tried = files.filter((file) => ["objects", "world", "rules"].includes(file.role)).map((file) => ({ ...file, role: file.role === "world" ? "objects" : file.role }));
    return post<GraphAnswer>("graph", { files: text === null ? tried : [{ name: "objects.yaml", role: "objects", text }], options: { ...options, ...more } }, signal);
  };
  useEffect(() => {
    const mine = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        setAnswer(await draw({}, mine.signal));
        setFailure("");
        setSelected(null);
        setMarked([]);
      } catch (error) {
        if (!mine.signal.aborted) setFailure(messageOf(error));
      }
      if (!mine.signal.aborted) setIsDrawing(false);
    };
    setIsDrawing(true);
    const timer = window.setTimeout(() => { void ask(); }, DRAW_PAUSE_MILLIS);
    return () => { window.clearTimeout(timer); mine.abort(); };
  }, [text, options, usesOwn, text === null ? files : null]);

  const byId = useMemo(() => new Map(answer?.nodes.map((node) => [node.id, node]) ?? []), [answer]);
  const change = (part: Partial<GraphOptions>): void => setOptions({ ...options, ...part });
  const choose = (node: GraphNode | null, zooms: boolean): void => {
    setSelected(node);
    setMarked(node ? [node.id] : []);
    if (node && zooms) map.current?.frame([node]);
  };
  const clicked = (node: GraphNode | null): void => {
    if (node?.opens) change({ open: [...options.open, node.opens] });
    else choose(node, false);
  };
  const showFinding = (finding: Finding): void => {
    const nodes = (finding.nodes ?? []).flatMap((id) => byId.get(id) ?? []);
    setMarked(nodes.map((node) => node.id));
    setSelected(nodes[0] ?? null);
    if (nodes.length > 0) map.current?.frame(nodes);
  };
  return (
    <main class="graph">
      <GraphSide answer={answer} options={options} change={change} choose={(node) => choose(node, true)} showFinding={showFinding}
        source={{ text, setText, isOwn, usesOwn, setIsTexts }} exportAs={(format) => { void draw({ standalone: true }).then((whole) => exportPicture(whole.svg, format)).catch((error: unknown) => setFailure(messageOf(error))); }} />
      <div class="map-side">
        {failure !== "" && <p class="failure" role="alert">{failure}</p>}
        {answer?.diagnostics.filter((one) => one.severity === "error").slice(0, MAX_PROBLEMS).map((one, at) => <p key={at} class="failure">{one.file}:{one.line} {one.message}{one.help ? `: ${one.help}` : ""}</p>)}
        <GraphMap answer={answer} marked={marked} control={map} clicked={clicked} />
        {selected && answer && <GraphCard node={selected} answer={answer} byId={byId} options={options} change={change} choose={(node) => choose(node, true)} close={() => choose(null, false)} />}
        {!isDrawing && answer && failure === "" && answer.counts.boxes === 0 && <p class="empty map-empty">{emptyWords(answer, options)}</p>}
        {!answer && isDrawing && <p class="map-counts" role="status">drawing…</p>}
        {answer && <p class="map-counts" role="status">{counted(answer.counts.objects, "object")}, {answer.counts.boxes} {answer.counts.boxes === 1 ? "box" : "boxes"}, {counted(answer.counts.edges, "relation")}{isDrawing ? ", drawing…" : ""}</p>}
      </div>
    </main>
  );
};

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/// Why there is nothing to see.
const emptyWords = (answer: GraphAnswer, options: GraphOptions): string => {
  if (answer.counts.objects === 0) return "Nothing to draw yet. Choose at the left where the objects come from, or paste the output of kubectl get … -o yaml.";
  return options.pattern === "" ? "No object fits what is chosen at the left." : `The pattern ${options.pattern} finds nothing in these objects, and none comes near.`;
};

const MAX_PNG_PIXELS = 60_000_000;

const exportPicture = async (svg: string, format: "svg" | "png"): Promise<void> => {
  if (format === "svg") return download("graph.svg", svg, "image/svg+xml");
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, Math.sqrt(MAX_PNG_PIXELS / (image.naturalWidth * image.naturalHeight)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.naturalWidth * scale);
  canvas.height = Math.round(image.naturalHeight * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => { if (blob) download("graph.png", blob); }, "image/png");
};
