"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const map = byId("map"), view = byId("view"), tip = byId("tip"), card = byId("card"), find = byId("find"), hits = byId("hits");
  const width = Number(map.dataset.w), height = Number(map.dataset.h);

  // The tooltips of the picture become ours, so that they do not show twice.
  const told = (element) => {
    const title = element.querySelector("title");
    const text = title ? title.textContent : "";
    if (title) title.remove();
    return text;
  };
  const nodes = [], edges = [], edgeOf = new Map();
  for (const element of view.querySelectorAll(".n")) {
    const at = element.transform.baseVal.consolidate().matrix;
    const box = element.querySelector(".b");
    nodes.push({ element, text: told(element), x: at.e + box.width.baseVal.value / 2, y: at.f + box.height.baseVal.value / 2, edges: [] });
  }
  for (const element of view.querySelectorAll(".e")) {
    const edge = { element, text: told(element), from: Number(element.dataset.f), to: Number(element.dataset.t), types: element.dataset.l.split(" ") };
    edges.push(edge);
    edgeOf.set(element, edge);
    nodes[edge.from].edges.push(edge);
    if (edge.to !== edge.from) nodes[edge.to].edges.push(edge);
  }
  for (const words of view.querySelectorAll("text.t")) edges[Number(words.dataset.e)].words = words;
  const buttons = [];
  for (const button of document.querySelectorAll("#list button")) {
    const place = Number(button.dataset.n);
    buttons[place] = button;
    nodes[place].words = (nodes[place].text + " " + (button.dataset.also || "")).toLowerCase();
  }
  const nodeOf = (element) => {
    const node = element.closest && element.closest(".n");
    return node && view.contains(node) ? Number(node.id.slice(1)) : -1;
  };

  // Where we look: a place and a scale.
  let x = 0, y = 0, scale = 1;
  const least = () => Math.min(map.clientWidth / width, map.clientHeight / height) * 0.5;
  let asked = false;
  const show = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      map.setAttribute("viewBox", [x, y, map.clientWidth / scale, map.clientHeight / scale].join(" "));
      map.dataset.scale = scale.toFixed(4);
      // Letters too small to be read only cost time.
      map.classList.toggle("far", scale < 0.4);
      map.classList.toggle("off", scale < 0.2);
    });
  };
  const fit = () => {
    scale = Math.min(map.clientWidth / width, map.clientHeight / height, 1.4);
    x = (width - map.clientWidth / scale) / 2;
    y = (height - map.clientHeight / scale) / 2;
    show();
  };
  const zoom = (by, px, py) => {
    const next = Math.min(6, Math.max(Math.min(least(), 0.5), scale * by));
    x += px / scale - px / next;
    y += py / scale - py / next;
    scale = next;
    show();
  };
  const middle = (by) => zoom(by, map.clientWidth / 2, map.clientHeight / 2);
  // The nearest box in a direction: what lies straight ahead counts more than what lies aside.
  const beside = (place, dx, dy) => {
    const at = nodes[place];
    let best = -1, least = Infinity;
    nodes.forEach((node, other) => {
      const ahead = (node.x - at.x) * dx + (node.y - at.y) * dy;
      const aside = Math.abs((node.x - at.x) * dy) + Math.abs((node.y - at.y) * dx);
      const far = ahead + 3 * aside;
      if (other !== place && ahead > 1 && far < least) { least = far; best = other; }
    });
    return best;
  };
  // All of these boxes, as large as they fit.
  const frame = (places) => {
    const some = places.map((place) => nodes[place]);
    const xs = some.map((node) => node.x), ys = some.map((node) => node.y);
    const [left, top] = [Math.min(...xs) - 160, Math.min(...ys) - 80];
    const [wide, high] = [Math.max(...xs) + 160 - left, Math.max(...ys) + 80 - top];
    scale = Math.min(map.clientWidth / wide, map.clientHeight / high, 1.4);
    x = left - (map.clientWidth / scale - wide) / 2;
    y = top - (map.clientHeight / scale - high) / 2;
    show();
  };
  const go = (node) => {
    scale = Math.max(scale, 0.9);
    x = node.x - map.clientWidth / scale / 2;
    y = node.y - map.clientHeight / scale / 2;
    show();
  };

  // What is lit: a set of boxes, or all.
  const light = (lit, lines) => {
    map.classList.toggle("some", lit !== null);
    nodes.forEach((node, place) => node.element.classList.toggle("hit", lit !== null && lit.has(place)));
    edges.forEach((edge) => {
      const hit = lit !== null && lines(edge);
      edge.element.classList.toggle("hit", hit);
      if (edge.words) edge.words.classList.toggle("hit", hit);
    });
  };
  let selected = -1;
  let over;
  let found = null;
  const around = (place) => {
    const lit = new Set([place]);
    nodes[place].edges.forEach((edge) => lit.add(edge.from).add(edge.to));
    light(lit, (edge) => edge.from === place || edge.to === place);
  };
  const rest = () => {
    if (selected >= 0) around(selected);
    else if (found) light(found, (edge) => found.has(edge.from) && found.has(edge.to));
    else light(null);
  };
  const add = (parent, tag, text) => {
    const child = document.createElement(tag);
    child.textContent = text;
    parent.append(child);
    return child;
  };
  const select = (place, move) => {
    over = undefined;
    if (selected >= 0) {
      nodes[selected].element.classList.remove("at");
      buttons[selected].removeAttribute("aria-current");
    }
    selected = place;
    card.replaceChildren();
    card.hidden = place < 0;
    if (place >= 0) {
      const node = nodes[place];
      node.element.classList.add("at");
      buttons[place].setAttribute("aria-current", "true");
      const [name, ...rest] = node.text.split("\n");
      add(card, "p", name);
      if (rest.length) add(card, "p", rest.join("\n"));
      const list = add(card, "ul", "");
      for (const edge of node.edges) {
        const out = edge.from === place;
        const other = out ? edge.to : edge.from;
        const button = add(add(list, "li", ""), "button", (out ? "→ " : "← ") + nodes[other].text.split("\n")[0]);
        add(button, "small", edge.text.split("\n").slice(1).join("; "));
        button.addEventListener("click", () => select(other, true));
      }
      if (move) go(node);
    }
    rest();
  };

  // Types of lines that are not wanted.
  const hidden = new Set();
  for (const box of document.querySelectorAll(".types input")) {
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(box.value);
      else hidden.add(box.value);
      for (const edge of edges) {
        const no = edge.types.every((type) => hidden.has(type));
        edge.element.classList.toggle("no", no);
        if (edge.words) edge.words.classList.toggle("no", no);
      }
    });
  }

  let turn = -1;
  const search = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    turn = -1;
    found = null;
    if (words.length) {
      found = new Set();
      nodes.forEach((node, place) => { if (words.every((word) => node.words.includes(word))) found.add(place); });
    }
    hits.textContent = found ? String(found.size) : "";
    buttons.forEach((button, place) => { button.parentElement.hidden = found !== null && !found.has(place); });
    for (const part of document.querySelectorAll("#list details, #list ul")) {
      const any = [...part.querySelectorAll("li")].some((item) => !item.hidden);
      part.hidden = !any;
      if (part.tagName === "UL") part.previousElementSibling.hidden = !any;
      else if (found) part.open = true;
    }
    select(-1, false);
    if (found && found.size) frame([...found]);
  };
  const next = (step) => {
    if (!found || !found.size) return;
    const order = [...found];
    turn = (turn + step + order.length) % order.length;
    select(order[turn], true);
  };

  const point = (event) => {
    const frame = map.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const pointers = new Map();
  let moved = 0;
  map.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, point(event));
    moved = 0;
  });
  map.addEventListener("pointermove", (event) => {
    const [px, py] = point(event);
    const before = pointers.get(event.pointerId);
    if (before) {
      const others = [...pointers].filter(([id]) => id !== event.pointerId);
      moved += Math.abs(px - before[0]) + Math.abs(py - before[1]);
      if (others.length) {
        const [ox, oy] = others[0][1];
        const was = Math.hypot(before[0] - ox, before[1] - oy), is = Math.hypot(px - ox, py - oy);
        if (was > 0) zoom(is / was, ox, oy);
      } else if (moved > 3) {
        if (!map.classList.contains("drag")) {
          map.classList.add("drag");
          map.setPointerCapture(event.pointerId);
        }
        x -= (px - before[0]) / scale;
        y -= (py - before[1]) / scale;
        show();
      }
      pointers.set(event.pointerId, [px, py]);
      tip.hidden = true;
      return;
    }
    const place = nodeOf(event.target);
    const line = event.target.closest(".e");
    const edge = line ? edgeOf.get(line) : undefined;
    const text = place >= 0 ? nodes[place].text : edge ? edge.text : "";
    tip.hidden = !text;
    if (text) {
      tip.textContent = text;
      tip.style.left = Math.max(4, Math.min(px + 14, map.clientWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, py + 16 + tip.offsetHeight > map.clientHeight ? py - tip.offsetHeight - 10 : py + 16) + "px";
    }
    const now = place >= 0 ? place : edge;
    if (selected >= 0 || now === over) return;
    over = now;
    if (place >= 0) around(place);
    else if (edge) light(new Set([edge.from, edge.to]), (one) => one === edge);
    else rest();
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    map.classList.remove("drag");
  };
  map.addEventListener("pointerup", (event) => {
    const click = moved <= 3;
    release(event);
    if (click) select(nodeOf(event.target), false);
  });
  map.addEventListener("pointercancel", release);
  map.addEventListener("pointerleave", () => { tip.hidden = true; over = undefined; rest(); });
  map.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [px, py] = point(event);
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), px, py);
  }, { passive: false });

  byId("in").addEventListener("click", () => middle(1.3));
  byId("out").addEventListener("click", () => middle(1 / 1.3));
  byId("fit").addEventListener("click", fit);
  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    // On with the arrows from what was found.
    if (event.key === "ArrowDown" && selected >= 0) { map.focus(); event.preventDefault(); event.stopPropagation(); }
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const is = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
    root.dataset.theme = is ? "light" : "dark";
  });
  buttons.forEach((button, place) => button.addEventListener("click", () => select(place, true)));
  for (const button of document.querySelectorAll("#findings button")) {
    button.addEventListener("click", () => select(Number(button.dataset.n), true));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      find.value = "";
      search();
      tip.hidden = true;
      return;
    }
    if (event.target === find) return;
    const step = 80 / scale;
    const keys = {
      "/": () => find.focus(), "+": () => middle(1.25), "=": () => middle(1.25), "-": () => middle(0.8), "0": fit,
      n: () => next(1), p: () => next(-1),
    };
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const way = ways[event.key];
    if (keys[event.key]) keys[event.key]();
    else if (way && (event.target === map || event.target === document.body)) {
      // From box to box where one is chosen, otherwise the whole picture moves.
      const next = selected >= 0 ? beside(selected, way[0], way[1]) : -1;
      if (next >= 0) select(next, true);
      else if (selected < 0) { x += step * way[0]; y += step * way[1]; show(); }
    } else return;
    event.preventDefault();
  });
  addEventListener("resize", show);
  fit();
})();
