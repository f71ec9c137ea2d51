// A session as the fragment of a link: `1.` and the base64url of JSON, compressed by the browser. It never reaches a server.
import type { ReviewRequest, TextFile } from "./api";

export interface Shared { title?: string; files: TextFile[]; request?: ReviewRequest }

export const MAX_DECODED_BYTES = 1 << 20;
export const LONG_LINK_BYTES = 8 * 1024;
export const MAX_LINK_BYTES = 64 * 1024;

const roles = new Set(["rules", "objects", "exceptions", "world", "old", "parameters", "user"]);

const bytesThrough = async (bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream, limit: number): Promise<Uint8Array> => {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    if (total > limit) {
      await reader.cancel();
      throw new Error(`the link contains more than ${limit / 1024} KiB of text`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(total);
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
};

const toBase64Url = (bytes: Uint8Array): string => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> => {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(plain.length);
  for (let at = 0; at < plain.length; at += 1) bytes[at] = plain.charCodeAt(at);
  return bytes;
};

/// The fragment without `#`.
export const encode = async (shared: Shared): Promise<string> => {
  const json = new TextEncoder().encode(JSON.stringify(shared));
  return `1.${toBase64Url(await bytesThrough(json, new CompressionStream("deflate-raw"), Infinity))}`;
};

/// Reads what `encode` wrote. Fails for anything else, and for more than 1 MiB of text.
export const decode = async (fragment: string): Promise<Shared> => {
  if (!fragment.startsWith("1.")) throw new Error("the link is from another version of kubewright");
  const packed = fragment.slice(2);
  if (packed.length > MAX_DECODED_BYTES) throw new Error("the link is too long");
  let json: string;
  try {
    json = new TextDecoder("utf-8", { fatal: true }).decode(await bytesThrough(fromBase64Url(packed), new DecompressionStream("deflate-raw"), MAX_DECODED_BYTES));
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("the link")) throw error;
    throw new Error("the link is damaged; a chat or a terminal may have cut it");
  }
  return checked(JSON.parse(json));
};

/// What a link or a file of a stranger contains, reduced to the fields we know.
export const checked = (value: unknown): Shared => {
  const given = value as Partial<Record<keyof Shared, unknown>> | null;
  if (!given || !Array.isArray(given.files)) throw new Error("the link contains no rules and objects");
  const files = given.files.flatMap((file: Partial<Record<keyof TextFile, unknown>> | null): TextFile[] =>
    file && typeof file.name === "string" && typeof file.text === "string" && roles.has(String(file.role))
      ? [{ name: file.name.slice(0, 200), role: file.role as TextFile["role"], text: file.text }] : []);
  const asked = (given.request ?? {}) as Partial<Record<keyof ReviewRequest, unknown>>;
  const request: ReviewRequest = {};
  if (typeof asked.operation === "string") request.operation = asked.operation;
  if (typeof asked.namespace === "string") request.namespace = asked.namespace;
  return { files, request, ...(typeof given.title === "string" ? { title: given.title.slice(0, 200) } : {}) };
};
