// One value that views read and subscribe to.
import { useEffect, useState } from "preact/hooks";

export class Store<T extends object> {
  private readonly listeners = new Set<() => void>();
  constructor(private value: T) {}

  get(): T { return this.value; }

  /// Replaces the named fields and calls every listener once.
  set(change: Partial<T>): void {
    this.value = { ...this.value, ...change };
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => { this.listeners.delete(listener); };
  }
}

/// The selected part of a store; the component renders again when that part is another value.
export const useStore = <T extends object, P>(store: Store<T>, select: (value: T) => P): P => {
  const part = select(store.get());
  const [, update] = useState(part);
  useEffect(() => {
    const observe = (): void => update(() => select(store.get()));
    observe();
    return store.subscribe(observe);
  }, [store]);
  return part;
};
