mod cluster;

use super::group::Rect;
use super::layout::{PictureLayout, lay_out_picture};
use super::scene::{Scene, build_scene};
use super::*;
use cluster::{cluster, finding};

const HOSTILE: [&str; 14] = [
    "\"><script>window.owned=1</script>",
    "</title></g></svg><script>window.owned=1</script>",
    "'onload='window.owned=1",
    "]]><img src=x onerror=window.owned=1>",
    "--><script>window.owned=1</script><!--",
    "\"]; n0 -> n0 [label=\"\\",
    "\"]\n  click n0 \"javascript:window.owned=1\"",
    "`**bold**` %%{init: {\"securityLevel\":\"loose\"}}%%",
    "&lt;script&gt;&#60;",
    "\u{0}\u{1}\u{b}\u{1b}[2J\u{85}\u{fffe}",
    "\u{202e}gpj.exe\u{2066}",
    "</script><script>window.owned=1</script>",
    "日本語の名前がとても長い場合にはどうなりますか🚀🚀🚀🚀🚀",
    "</style><style>*{display:none}",
];

/// A picture whose every text is `text`.
fn hostile(text: &str) -> Picture {
    let badge = Badge { tone: Tone::Role, text: text.into() };
    let node = |id: usize| PictureNode {
        id: id.to_string().into(),
        label: text.into(),
        kind: text.into(),
        namespace: text.into(),
        badges: vec![badge.clone()],
        notes: vec![text.into()],
        ..PictureNode::default()
    };
    let line =
        |style, points| PictureLine { from: 0, to: 1, label: text.into(), via: text.into(), style, points };
    Picture {
        title: text.into(),
        nodes: vec![node(0), node(1), PictureNode { namespace: "".into(), kind: "Pod".into(), ..node(2) }],
        lines: vec![
            line(LineStyle::Solid, None),
            line(LineStyle::Dashed, Some(1.5)),
            line(LineStyle::Missing, None),
        ],
        groups: vec![FrameLabel { frame: text.into(), label: text.into() }],
        legend: vec![text.into()],
        open: Vec::new(),
    }
}

/// Panics unless every tag is closed, every `<` begins one of ours, and nothing is there that XML forbids.
#[track_caller]
fn check_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        assert!(tag.matches('"').count().is_multiple_of(2), "quotes in <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        let ours = ["svg", "title", "style", "rect", "text", "g", "path"];
        assert!(ours.contains(&name), "<{tag}> is not ours");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert_eq!(open, Vec::<&str>::new());
    let forbidden =
        |one: char| one.is_control() && one != '\n' || matches!(one, '\u{202a}'..='\u{202e}' | '\u{fffe}');
    assert_eq!(text.find(forbidden), None);
}

#[test]
fn hostile_text_stays_text_in_svg() {
    for text in HOSTILE {
        check_xml(&render_svg(&hostile(text), &DrawOptions::default()));
    }
}

#[test]
fn hostile_text_adds_no_element_to_the_page() {
    let tags = |page: &str| page.matches('<').count();
    let tame = render_html(&hostile("tame"), &DrawOptions::default());
    for text in HOSTILE {
        let page = render_html(&hostile(text), &DrawOptions::default());
        assert_eq!(page.matches("<script").count(), 1, "{text}");
        assert_eq!(page.matches("<img").count() + page.matches("<!--").count(), 0, "{text}");
        assert!(tags(&page) <= tags(&tame) + 40, "{text}");
    }
}

#[test]
fn hostile_text_adds_no_statement_to_dot() {
    for text in HOSTILE {
        let out = render_dot(&hostile(text), &DrawOptions::default());
        // Outside of quotes there is nothing but what we write.
        let mut bare = String::new();
        let (mut quoted, mut escaped) = (false, false);
        for one in out.chars() {
            match one {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if !quoted => bare.push(one),
                _ => {}
            }
        }
        assert!(!quoted, "{out}");
        assert_eq!(bare.matches("->").count(), 3, "{out}");
        assert_eq!(bare.matches('{').count(), bare.matches('}').count(), "{out}");
    }
}

#[test]
fn hostile_text_adds_no_line_to_mermaid() {
    let lines = render_mermaid(&hostile("tame"), &DrawOptions::default()).lines().count();
    for text in HOSTILE {
        let out = render_mermaid(&hostile(text), &DrawOptions::default());
        assert_eq!(out.lines().count(), lines, "{out}");
        assert!(!out.contains("<script") && !out.contains("%%{") && !out.contains('`'), "{out}");
        let quotes = out.lines().map(|line| line.matches('"').count());
        assert!(quotes.into_iter().all(|count| count == 0 || count == 2), "{out}");
    }
}

#[test]
fn json_holds_every_text_as_it_is() {
    use kubewright_value::Value;
    for text in HOSTILE {
        let value = kubewright_value::json::parse(&render_json(&hostile(text))).expect("JSON");
        let Value::Object(map) = value else { panic!("an object") };
        assert_eq!(map.get("title"), Some(&Value::String(text.into())));
    }
}

#[test]
fn the_page_runs_one_script_by_its_digest_and_names_no_address() {
    use base64::Engine as _;
    use sha2::Digest as _;
    let page = render_html(&cluster(40), &DrawOptions::default());
    let begin = page.find("<script>").expect("a script") + "<script>".len();
    let end = page.find("</script>").expect("its end");
    let digest = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(&page[begin..end]));
    assert!(page.contains(&format!("script-src 'sha256-{digest}'")), "the digest is sha256-{digest}");
    assert_eq!(page.find("http:").or(page.find("https:")).or(page.find("url(")).or(page.find("src=")), None);
}

#[test]
fn the_svg_names_no_address_but_its_own_namespace() {
    let out = render_svg(&cluster(40), &DrawOptions::default());
    assert_eq!(
        (out.matches("http:").count() + out.matches("https:").count(), out.matches("href").count()),
        (1, 0)
    );
}

/// Lays out `picture` and checks that nothing covers anything.
#[track_caller]
fn check_layout(picture: &Picture) {
    let scene = build_scene(picture, DrawOptions::default());
    let layout = lay_out_picture(picture, &scene);
    let boxes = &layout.boxes.0;
    check_apart(boxes, "boxes");
    let frames: Vec<Rect> = layout.frames.iter().map(|frame| frame.rect).collect();
    check_apart(&frames, "frames");
    let words: Vec<Rect> = layout.captions.iter().map(words).collect();
    check_apart(&words, "words");
    for word in &words {
        assert!(!boxes.iter().any(|one| meet(*one, *word)), "words on a box");
    }
    for (place, one) in boxes.iter().enumerate() {
        let around = frames.iter().filter(|frame| meet(**frame, *one)).count();
        assert_eq!(around, 1, "box {place} is in one frame");
    }
    check_routes(&scene, &layout);
}

fn words(caption: &labels::Caption) -> Rect {
    let width = text::text_width(&caption.text, labels::CAPTION_FONT_SIZE);
    Rect { x: caption.x - width / 2.0, y: caption.y - 6.0, width, height: 12.0 }
}

#[track_caller]
fn check_apart(all: &[Rect], what: &str) {
    for (place, one) in all.iter().enumerate() {
        for other in &all[place + 1..] {
            assert!(!meet(*one, *other), "two {what} cover each other: {one:?} {other:?}");
        }
    }
}

/// No line goes through a box that is not its own.
#[track_caller]
fn check_routes(scene: &Scene<'_>, layout: &PictureLayout) {
    for (link, route) in scene.links.iter().zip(&layout.routes).filter(|(link, _)| link.from != link.to) {
        for (x, y) in points(&route.path) {
            for (place, one) in layout.boxes.0.iter().enumerate() {
                if place == link.from || place == link.to {
                    continue;
                }
                let inner =
                    Rect { x: one.x + 2.0, y: one.y + 2.0, width: one.width - 4.0, height: one.height - 4.0 };
                let dot = Rect { x, y, width: 0.1, height: 0.1 };
                assert!(
                    !meet(inner, dot),
                    "line {} to {} covers box {place}: {}",
                    link.from,
                    link.to,
                    route.path
                );
            }
        }
    }
}

/// Points along a path of `M`, `L`, `H`, `C` and `Q`.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|one: char| one.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let numbers: Vec<f64> =
            rest[1..end].split(' ').map(|number| number.parse().expect("a number")).collect();
        rest = &rest[end..];
        let from = points.last().copied().unwrap_or_default();
        let line = |to: (f64, f64)| [from, from, to, to];
        let [a, b, c, d] = match (command, numbers.as_slice()) {
            ('M', [x, y]) => {
                points.push((*x, *y));
                continue;
            }
            ('L', [x, y]) => line((*x, *y)),
            ('H', [x]) => line((*x, from.1)),
            ('Q', [x, y, to, down]) => [from, (*x, *y), (*x, *y), (*to, *down)],
            ('C', [a, b, c, d, e, f]) => [from, (*a, *b), (*c, *d), (*e, *f)],
            other => panic!("{other:?}"),
        };
        for step in 1..=24 {
            let (t, s) = (f64::from(step) / 24.0, 1.0 - f64::from(step) / 24.0);
            let (i, j, k, l) = (s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t);
            let mix = |one: f64, two: f64, three: f64, four: f64| i * one + j * two + k * three + l * four;
            points.push((mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1)));
        }
    }
    points
}

fn meet(one: Rect, other: Rect) -> bool {
    one.x < other.x + other.width
        && other.x < one.x + one.width
        && one.y < other.y + other.height
        && other.y < one.y + one.height
}

#[test]
fn nothing_covers_anything_in_clusters_of_every_size() {
    for size in [1, 2, 5, 20, 60, 200, 700] {
        check_layout(&cluster(size));
    }
}

#[test]
fn nothing_covers_anything_in_a_finding() {
    check_layout(&finding());
}

#[test]
fn nothing_covers_anything_in_random_graphs() {
    const KINDS: [&str; 9] = [
        "Ingress",
        "Service",
        "Deployment",
        "ReplicaSet",
        "Pod",
        "ConfigMap",
        "Role",
        "Thing",
        "StorageClass",
    ];
    let mut seed = 7_u64;
    let mut roll = |sides: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % sides
    };
    for _ in 0..40 {
        let count = 1 + roll(60);
        let spaces = 1 + roll(5);
        let mut picture = Picture::default();
        for id in 0..count {
            let name = format!("name-{}", "x".repeat(roll(40)));
            picture.nodes.push(PictureNode {
                id: id.to_string().into(),
                label: name.into(),
                kind: KINDS[roll(9)].into(),
                namespace: if roll(6) == 0 { "".into() } else { format!("ns-{}", roll(spaces)).into() },
                ..PictureNode::default()
            });
        }
        for _ in 0..roll(120) {
            let style = [LineStyle::Solid, LineStyle::Dashed, LineStyle::Missing][roll(3)];
            let label = format!("TYPE_{}", roll(12)).into();
            picture.lines.push(PictureLine {
                from: roll(count),
                to: roll(count),
                label,
                style,
                ..PictureLine::default()
            });
        }
        check_layout(&picture);
    }
}

#[test]
fn the_order_of_the_input_does_not_show() {
    let picture = cluster(300);
    let count = picture.nodes.len();
    // A step that has no divisor in common with the count visits every node once.
    let step = (7..)
        .find(|step| {
            (2..=*step).all(|part| !usize::is_multiple_of(*step, part) || !count.is_multiple_of(part))
        })
        .expect("a step");
    let to: Vec<usize> = (0..count).map(|place| place * step % count).collect();
    let mut mixed = picture.clone();
    for (place, node) in picture.nodes.iter().enumerate() {
        mixed.nodes[to[place]] = node.clone();
    }
    for line in &mut mixed.lines {
        (line.from, line.to) = (to[line.from], to[line.to]);
    }
    mixed.lines.reverse();
    let small = DrawOptions { glyphs: 80, lines: 100, ..DrawOptions::default() };
    for options in [DrawOptions::default(), small] {
        assert!(render_svg(&picture, &options) == render_svg(&mixed, &options), "{options:?}");
    }
    assert!(render_html(&picture, &small) == render_html(&mixed, &small));
    assert!(render_mermaid(&picture, &small) == render_mermaid(&mixed, &small));
}

#[test]
fn above_the_limit_boxes_are_merged_and_every_object_is_counted() {
    for (size, limit) in [(300, 200), (2_000, 1_500), (5_000, 60), (9_000, 8)] {
        let picture = cluster(size);
        let scene = build_scene(&picture, DrawOptions { glyphs: limit, ..DrawOptions::default() });
        assert!(scene.glyphs.len() <= limit, "{size} to {limit}: {}", scene.glyphs.len());
        assert_eq!(scene.glyphs.iter().map(|glyph| glyph.count).sum::<usize>(), picture.nodes.len());
    }
}

#[test]
fn an_object_with_a_role_is_never_merged() {
    let mut picture = cluster(3_000);
    let at = picture.nodes.iter().position(|node| node.kind == "Pod").expect("a pod");
    picture.nodes[at].badges.push(Badge { tone: Tone::Role, text: "leader".into() });
    let scene = build_scene(&picture, DrawOptions { glyphs: 50, ..DrawOptions::default() });
    let glyph = scene.glyphs.iter().find(|glyph| !glyph.badges.is_empty()).expect("its box");
    assert_eq!((glyph.count, glyph.label.as_ref()), (1, picture.nodes[at].label.as_str()));
}

#[test]
fn replicas_of_one_workload_become_one_box_with_their_common_name() {
    let mut picture = Picture::default();
    picture.nodes.push(PictureNode {
        label: "web".into(),
        kind: "ReplicaSet".into(),
        ..PictureNode::default()
    });
    for replica in 0..30 {
        let label = format!("web-{replica:02}").into();
        picture.nodes.push(PictureNode { label, kind: "Pod".into(), ..PictureNode::default() });
        picture.lines.push(PictureLine {
            from: 0,
            to: replica + 1,
            label: "OWNS".into(),
            ..PictureLine::default()
        });
    }
    let out = render_svg(&picture, &DrawOptions { glyphs: 10, ..DrawOptions::default() });
    assert!(out.contains(">web-*<") && out.contains("×30"), "{out}");
}

#[test]
fn what_is_missing_scored_or_a_role_can_be_seen_in_every_form() {
    let picture = finding();
    let options = DrawOptions::default();
    let out = render_svg(&picture, &options);
    for sign in [
        "e m\"",
        "expected but absent",
        "MOUNTS +0.6",
        "SAME_NETWORK +0.25",
        ">sidecar<",
        "✗ HAS_AFFINITY_TO",
    ] {
        assert!(out.contains(sign), "{sign}");
    }
    let out = render_dot(&picture, &options);
    for sign in ["style=dashed, color=\"#c4001d\"", "MOUNTS +0.6", "[sidecar]"] {
        assert!(out.contains(sign), "{sign} in {out}");
    }
    let out = render_mermaid(&picture, &options);
    for sign in ["linkStyle 0,1 stroke:#c4001d", "MOUNTS +0.6", "(sidecar)", ":::absent"] {
        assert!(out.contains(sign), "{sign} in {out}");
    }
    let out = render_json(&picture);
    for sign in ["\"style\": \"missing\"", "\"points\": 0.6", "\"text\": \"sidecar\", \"tone\": \"role\""] {
        assert!(out.contains(sign), "{sign} in {out}");
    }
}

#[test]
fn lines_above_the_limit_are_left_out_and_the_picture_says_so() {
    let mut picture = Picture::default();
    for id in 0..150_usize {
        picture.nodes.push(PictureNode {
            label: format!("pod-{id}").into(),
            kind: "Pod".into(),
            ..PictureNode::default()
        });
        for to in 0..150 {
            picture.lines.push(PictureLine { from: id, to, label: "SEES".into(), ..PictureLine::default() });
        }
    }
    let out = render_svg(&picture, &DrawOptions { lines: 500, ..DrawOptions::default() });
    assert!(out.contains("22000 lines are left out."));
}

#[test]
fn an_empty_picture_and_impossible_lines_are_drawn_as_far_as_they_go() {
    let options = DrawOptions::default();
    check_xml(&render_svg(&Picture::default(), &options));
    let line = |from, to| PictureLine { from, to, points: Some(f64::NAN), ..PictureLine::default() };
    let picture = Picture {
        nodes: vec![PictureNode::default()],
        lines: vec![line(0, 9), line(9, 0), line(0, 0)],
        ..Picture::default()
    };
    check_xml(&render_svg(&picture, &options));
    assert!(!render_svg(&picture, &options).contains("NaN"));
    assert!(kubewright_value::json::parse(&render_json(&picture)).is_ok());
    assert!(render_dot(&Picture::default(), &options).ends_with("}\n"));
}

#[test]
fn a_name_of_a_million_letters_is_cut() {
    let long = "x".repeat(1_000_000);
    let picture = hostile(&long);
    assert!(render_svg(&picture, &DrawOptions::default()).len() < 40_000);
    assert!(render_html(&picture, &DrawOptions::default()).len() < 60_000);
}

#[test]
fn a_chart_is_never_longer_than_mermaid_reads() {
    let mut picture = cluster(400);
    assert!(render_mermaid(&picture, &DrawOptions::default()).len() < 50_000);
    picture
        .nodes
        .iter_mut()
        .for_each(|node| node.label = format!("{}{}", "<&>".repeat(60), node.label).into());
    assert!(render_mermaid(&picture, &DrawOptions::default()).len() < 50_000);
}

#[test]
fn crossings_that_can_be_avoided_are_avoided() {
    let mut picture = Picture::default();
    for name in ["a", "b", "c"] {
        picture.nodes.push(PictureNode {
            label: name.into(),
            kind: "Service".into(),
            ..PictureNode::default()
        });
    }
    for name in ["1", "2", "3"] {
        picture.nodes.push(PictureNode {
            label: name.into(),
            kind: "Deployment".into(),
            ..PictureNode::default()
        });
    }
    for (from, to) in [(0, 5), (1, 4), (2, 3), (2, 4), (1, 5)] {
        picture.lines.push(PictureLine { from, to, label: "TO".into(), ..PictureLine::default() });
    }
    let scene = build_scene(&picture, DrawOptions::default());
    let layout = lay_out_picture(&picture, &scene);
    let y = |place: usize| layout.boxes.0[place].y;
    for one in &scene.links {
        for other in &scene.links {
            assert!((y(one.from) - y(other.from)) * (y(one.to) - y(other.to)) >= 0.0);
        }
    }
}

/// The picture `a-LABEL>b …`, where a name begins with the letter of its kind and `*` marks a missing line.
fn small(lines: &str) -> Picture {
    let mut picture = Picture::default();
    let mut place = |name: &str| {
        let found = picture.nodes.iter().position(|node| node.label == name);
        found.unwrap_or_else(|| {
            let kind = match name.chars().next() {
                Some('n') => "Namespace",
                Some('d') => "Deployment",
                Some('r') => "ReplicaSet",
                _ => "Pod",
            };
            let namespace = if kind == "Namespace" { "" } else { "n1" };
            let (label, kind, namespace) = (name.into(), kind.into(), namespace.into());
            picture.nodes.push(PictureNode { label, kind, namespace, ..PictureNode::default() });
            picture.nodes.len() - 1
        })
    };
    let mut all = Vec::new();
    for line in lines.split(' ') {
        let (from, rest) = line.split_once('-').expect("a dash");
        let (label, to) = rest.split_once('>').expect("an arrow");
        let style = if label.starts_with('*') { LineStyle::Missing } else { LineStyle::Solid };
        let label = label.trim_start_matches('*').into();
        all.push(PictureLine { from: place(from), to: place(to), label, style, ..PictureLine::default() });
    }
    picture.lines = all;
    picture
}

fn lines(picture: &Picture) -> String {
    let name = |place: usize| picture.nodes[place].label.as_str();
    let one = |line: &PictureLine| format!("{}-{}>{}", name(line.from), line.label, name(line.to));
    picture.lines.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check_simple(before: &str, after: &str) {
    let mut picture = small(before);
    picture.simplify();
    assert_eq!(lines(&picture), after);
}

#[test]
fn a_namespace_is_not_linked_to_what_its_frame_holds() {
    check_simple("n1-IS_NAMESPACE_OF>p1 n2-IS_NAMESPACE_OF>p1", "n2-IS_NAMESPACE_OF>p1");
}

#[test]
fn a_distant_owner_is_not_linked_when_the_owners_between_are() {
    check_simple("d1-OWNS>r1 r1-OWNS>p1 d1-MANAGES>p1 d2-MANAGES>p1", "d1-OWNS>r1 r1-OWNS>p1 d2-MANAGES>p1");
}

#[test]
fn owners_in_a_circle_keep_their_lines() {
    check_simple(
        "d1-OWNS>r1 r1-OWNS>d1 r1-OWNS>p1 d1-OWNS>p1",
        "d1-OWNS>r1 r1-OWNS>d1 r1-OWNS>p1 d1-OWNS>p1",
    );
}

#[test]
fn a_missing_line_stays_whatever_says_the_same() {
    check_simple("n1-*IS_NAMESPACE_OF>p1", "n1-IS_NAMESPACE_OF>p1");
}

#[track_caller]
fn check_around(all: &str, place: usize, depth: usize, want: &str) {
    assert_eq!(lines(&small(all).around(&[place], depth, FollowDirection::Both)), want);
}

#[test]
fn around_goes_both_ways_as_far_as_it_is_told() {
    let all = "d1-A>r1 r1-A>p1 p1-A>p2 p2-A>p3";
    check_around(all, 2, 1, "r1-A>p1 p1-A>p2");
    check_around(all, 2, 9, all);
    check_around(all, 0, 0, "");
    check_around(all, 99, 3, "");
}

#[test]
fn lines_of_different_types_do_not_share_their_way() {
    let mut picture = small("d1-OWNS>r1 r1-OWNS>p1 d1-SEES>p1 d1-HEARS>p2 r1-OWNS>p2");
    picture.nodes.iter_mut().for_each(|node| node.namespace = "".into());
    let scene = build_scene(&picture, DrawOptions::default());
    let layout = lay_out_picture(&picture, &scene);
    let ways = scene.links.iter().zip(&layout.routes).filter(|(link, _)| link.labels() != ["OWNS"]);
    let ways: Vec<f64> = ways.filter_map(|(_, route)| points(&route.path).get(24).map(|at| at.1)).collect();
    assert_eq!(ways.len(), 2);
    assert!((ways[0] - ways[1]).abs() > 1.0, "{ways:?}");
}

/// A picture of `count` applications of three objects each, without labels on the third.
fn many_applications(count: usize) -> Picture {
    let mut picture = Picture::default();
    for number in 0..count {
        let application: Text = format!("app-{number}").into();
        for kind in ["Service", "Deployment", "ConfigMap"] {
            picture.nodes.push(PictureNode {
                id: format!("{kind}/shop/{application}").into(),
                label: application.clone(),
                kind: kind.into(),
                namespace: "shop".into(),
                application: if kind == "ConfigMap" { Text::default() } else { application.clone() },
                ..PictureNode::default()
            });
        }
        let first = number * 3;
        for (from, to, label) in [(first, first + 1, "EXPOSES"), (first + 1, first + 2, "USES_CONFIG")] {
            picture.lines.push(PictureLine { from, to, label: label.into(), ..PictureLine::default() });
        }
        if number > 0 {
            let (from, to) = (first + 1, first - 3);
            picture.lines.push(PictureLine { from, to, label: "CALLS".into(), ..PictureLine::default() });
        }
    }
    picture
}

#[test]
fn many_boxes_become_one_for_each_application() {
    let options = DrawOptions { applications_above: 150, ..DrawOptions::default() };
    let tree = render_tree(&many_applications(60), &options);
    assert!((0..60).all(|number| tree.contains(&format!("Application app-{number} ×3"))), "{tree}");
    assert!(!tree.contains("ConfigMap") && !tree.contains("Deployment"), "{tree}");
    let few = render_tree(&many_applications(40), &options);
    assert!(few.contains("ConfigMap app-7") && !few.contains("Application"), "{few}");
}

#[test]
fn opened_application_is_drawn_in_full_among_boxes_of_the_others() {
    let options = DrawOptions { applications_above: 150, ..DrawOptions::default() };
    let picture = Picture { open: vec!["shop/app-7".into()], ..many_applications(60) };
    let placed = place_picture(&picture, &options);
    assert_eq!(placed.boxes.len(), 59 + 3);
    let open: Vec<&str> = placed
        .boxes
        .iter()
        .filter(|one| one.application == "shop/app-7")
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!(open, ["Service", "Deployment", "ConfigMap"]);
    assert_eq!(placed.applications.iter().filter(|one| one.is_one_box).count(), 59);
    assert_eq!(placed, place_picture(&picture, &options));
}

#[test]
fn too_many_applications_are_drawn_by_namespace_and_opened_ones_stay() {
    let options = DrawOptions { applications_above: 50, glyphs: 60, ..DrawOptions::default() };
    let mut picture = many_applications(80);
    for node in picture.nodes.iter_mut().take(40 * 3) {
        node.namespace = "ops".into();
    }
    picture.open = vec!["shop/app-70".into()];
    let placed = place_picture(&picture, &options);
    let kinds = |kind: &str| placed.boxes.iter().filter(|one| one.kind == kind).count();
    // `ops` has 40 boxes; `shop` has 39, and the three objects of what is opened.
    assert_eq!((kinds("Namespace"), kinds("Application"), placed.boxes.len()), (1, 39, 43));
}

#[test]
fn namespace_that_is_one_box_opens_if_there_is_room() {
    let options = DrawOptions { applications_above: 50, glyphs: 60, ..DrawOptions::default() };
    let mut picture = many_applications(80);
    for node in picture.nodes.iter_mut().take(40 * 3) {
        node.namespace = "ops".into();
    }
    let drawn = |picture: &Picture, options: &DrawOptions| {
        let placed = place_picture(picture, options);
        let joined = placed.boxes.iter().filter(|one| one.kind == "Namespace");
        let joined: Vec<(String, String)> =
            joined.map(|one| (one.id.to_string(), one.opens.to_string())).collect();
        (joined, placed.boxes.len())
    };
    let both = |name: &str, opens: &str| vec![(format!("namespace:{name}"), opens.to_owned())];
    assert_eq!(drawn(&picture, &options), (both("ops", "namespace:ops"), 41));
    picture.open = vec!["namespace:ops".into()];
    assert_eq!(drawn(&picture, &options), (both("shop", "namespace:shop"), 41));
    // There is no room for both: the one that was opened last is open, and the other one is as it was.
    picture.open.push("namespace:shop".into());
    assert_eq!(drawn(&picture, &options), (both("ops", ""), 41));
    // Neither has room among 30 boxes.
    let (joined, count) = drawn(&picture, &DrawOptions { glyphs: 30, ..options });
    assert_eq!((joined.len(), count), (2, 2));
}

#[test]
fn boxes_and_lines_of_a_placed_picture_are_in_the_order_of_their_elements() {
    let placed = place_picture(&many_applications(3), &DrawOptions::default());
    check_xml(&placed.svg);
    assert!(!placed.svg.contains("<style"), "the page has the style sheet");
    for (place, one) in placed.boxes.iter().enumerate() {
        let (x, y) = one.corner;
        let element = format!("id=\"n{place}\" transform=\"translate({x:.0} {y:.0})\"><title>{} ", one.kind);
        assert!(placed.svg.contains(&element), "{element}");
        assert_eq!((one.objects, one.members.len()), (1, 1));
    }
    let ends: Vec<String> =
        placed.lines.iter().map(|line| format!("data-f=\"{}\" data-t=\"{}\"", line.from, line.to)).collect();
    let drawn: Vec<&str> = placed.svg.split("data-f").skip(1).collect();
    assert_eq!(ends.len(), drawn.len());
    assert!(ends.iter().zip(drawn).all(|(end, drawn)| format!("data-f{drawn}").starts_with(end.as_str())));
    assert_eq!(
        placed.types.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(),
        ["CALLS", "EXPOSES", "USES_CONFIG"]
    );
}

#[test]
fn controller_is_one_box_with_its_pods() {
    let node = |kind: &str, label: &str| PictureNode {
        id: format!("{kind}/{label}").into(),
        label: label.into(),
        kind: kind.into(),
        namespace: "shop".into(),
        ..PictureNode::default()
    };
    let line =
        |from, to, label: &str| PictureLine { from, to, label: label.into(), ..PictureLine::default() };
    let picture = Picture {
        nodes: vec![
            node("StatefulSet", "db"),
            node("Pod", "db-0"),
            node("Pod", "db-1"),
            node("Service", "db"),
        ],
        lines: vec![line(0, 1, "OWNS"), line(0, 2, "OWNS"), line(3, 1, "EXPOSES"), line(3, 2, "EXPOSES")],
        ..Picture::default()
    };
    let options = DrawOptions { folds: true, ..DrawOptions::default() };
    let tree = render_tree(&picture, &options);
    assert_eq!(tree, "shop\n  Service db\n  └─ EXPOSES → StatefulSet db ×2\n");
}
