//! Valid and invalid paths, and their errors.

use super::{PatchPath, PathPiece, PathSegment, Text, check, check_fails, check_says};
use crate::path::PatchPathTemplate;
use crate::path::PathPatchErrorKind;

/// Writes the segments of a path in an unmistakable form.
fn form(path: &PatchPath) -> String {
    let word = |segment: &PathSegment| match segment {
        PathSegment::Key(key) => format!("{key:?}"),
        PathSegment::Number(key, index) => {
            format!("{key}={index:?}").replace("Some", "").replace("None", "()")
        }
        PathSegment::Index(index) => format!("[{index}]"),
        PathSegment::Append => "-".to_owned(),
        PathSegment::Every => "*".to_owned(),
        PathSegment::Filter { field, value } => {
            format!("{}=={value:?}", field.iter().map(Text::as_str).collect::<Vec<_>>().join("|"))
        }
    };
    path.segments().map(word).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn parses(path: &str, want: &str) {
    assert_eq!(PatchPath::parse(path).as_ref().map(form), Ok(want.to_owned()), "{path}");
}

/// Checks the message and the part of the path that it points at.
#[track_caller]
fn refuses(path: &str, want: &str) {
    let error = PatchPath::parse(path).unwrap_err();
    let start = usize::try_from(error.position.column).unwrap() - 1;
    let pointed: String = path.chars().skip(start).take(error.length as usize).collect();
    assert_eq!(format!("{pointed}: {error}"), want, "{path}");
    assert!(error.help.is_some(), "{path}");
}

/// Parses a path in which the text between `«` and `»` was put in.
fn with_text(path: &str) -> Result<String, String> {
    let mut pieces = Vec::new();
    for (number, part) in path.split(['«', '»']).enumerate() {
        pieces.push(if number % 2 == 0 { PathPiece::Literal(part) } else { PathPiece::Text(part) });
    }
    PatchPath::from_pieces(&pieces).as_ref().map(form).map_err(ToString::to_string)
}

#[track_caller]
fn protects(path: &str, want: &str) {
    assert_eq!(with_text(path), Ok(want.to_owned()), "{path}");
}

#[test]
fn keys_and_escapes() {
    parses(
        "/metadata/annotations/app.kubernetes.io~1name",
        r#""metadata" "annotations" "app.kubernetes.io/name""#,
    );
    parses("/a~01b/~0/~1", r#""a~1b" "~" "/""#);
    parses("/a~2b/c~", r#""a~2b" "c~""#);
    parses("spec/x", r#""spec" "x""#);
    parses("/spec//x/", r#""spec" "x""#);
    parses("/schlüssel/日本", r#""schlüssel" "日本""#);
}

#[test]
fn white_space_around_a_path_is_no_part_of_it() {
    parses("  /spec/a b\n", r#""spec" "a b""#);
    parses("\n/l/-\n", r#""l" -"#);
    refuses("\n", "\n: the path is empty, which is the whole document");
    protects("/spec/«a »\n", r#""spec" "a ""#);
    protects("«/»", r#""/""#);
}

#[test]
fn numbers_and_brackets() {
    parses("/l/0/00/+1/-1", r#""l" 0=(0) 00=(0) +1=(1) -1=()"#);
    parses("/99999999999999999999", r#""99999999999999999999""#);
    parses("/l[0][1]/[2]", r#""l" [0] [1] [2]"#);
    parses("/l[*]/x", r#""l" * "x""#);
    parses("/l/[*]/-", r#""l" * -"#);
    parses("/l[-]", r#""l" -"#);
    parses("/l[*]x", r#""l" * "x""#);
}

#[test]
fn keys_in_quotes_may_be_anything() {
    parses("/labels/['a[b]']", r#""labels" "a[b]""#);
    parses("/labels['']", r#""labels" """#);
    parses(r#"/['8080']/["-"]/['a/b']/['a~1b']"#, r#""8080" "-" "a/b" "a/b""#);
    parses("/['it's']", r#""it's""#);
}

#[test]
fn filters() {
    parses("/c[?(@.name=='app')]/env/-", r#""c" name=="app" "env" -"#);
    parses("/c/[?(@.name==\"app\")]", r#""c" name=="app""#);
    parses("/c[?( @.a.b-c_d == 'x' )]", r#""c" a|b-c_d=="x""#);
}

#[test]
fn text_of_a_filter_is_taken_as_it_is() {
    parses("/c[?(@.image=='repo/x:1')]", r#""c" image=="repo/x:1""#);
    parses("/c[?(@.url=='http:~1~1a~0')]", r#""c" url=="http://a~""#);
    parses("/c[?(@.v=='a]b')]", r#""c" v=="a]b""#);
    parses("/c[?(@.v=='it's')]", r#""c" v=="it's""#);
    parses("/c[?(@.v=='say \"hi\"')]", r#""c" v=="say \"hi\"""#);
    parses("/c[?(@.v=='app\")]/x[?(@.w=='y')]", r#""c" v=="app" "x" w=="y""#);
    parses("/c[?(@.v=='')]", r#""c" v=="""#);
}

#[test]
fn what_is_no_path() {
    refuses("", ": the path is empty, which is the whole document");
    refuses("/", "/: the path is empty, which is the whole document");
    refuses("/a[b]", "b: `b` is no index");
    refuses("/a[]", "]: `` is no index");
    refuses("/a[-1]", "-1: index `-1` is below zero");
    refuses("/a[0", "[: `[` is not closed");
    refuses("/a['b]", "[: `[` is not closed");
    refuses("/c[? (@.n=='a')]", "? (@.n=='a'): `? (@.n=='a')` is no index");
    refuses("/c/-/name", "-: `-` can only stand at the end of a path");
}

#[test]
fn what_is_no_filter() {
    refuses(
        "/c[?(@.n=='a' && @.m=='b')]/x",
        "[?(@.n=='a' && @.m=='b')]: the filter has more than one condition: `&&` is not supported",
    );
    refuses(
        "/c[?(@.n=='a' || @.m=='b')]",
        "[?(@.n=='a' || @.m=='b')]: the filter has more than one condition: `||` is not supported",
    );
    refuses("/c[?(@.n!='a')]", "[?(@.n!='a')]: the filter has the operator `!=`: only `==` is supported");
    refuses(
        "/c[?(@.n contains 'a')]",
        "[?(@.n contains 'a')]: the filter has the operator `contains`: only `==` is supported",
    );
    refuses("/c[?(@.n='a')]", "[?(@.n='a')]: the filter has the operator `=`: only `==` is supported");
    refuses("/c[?(@.n)]", "[?(@.n)]: the filter asks only whether a field is there, which is not supported");
    refuses("/c[?(@.p[0]=='a')]", "[?(@.p[0]: the filter has a field with an index, which is not supported");
    refuses("/c[?(@['n']=='a')]", "[?(@['n']: the filter does not start with `@.` and a field");
    refuses("/c[?(@=='a')]", "[?(@=='a')]: the filter does not start with `@.` and a field");
    refuses("/c[?(@.$x=='a')]", "[?(@.$x=='a')]: the filter has a field without a name");
    refuses("/c[?(@.x$=='a')]", "[?(@.x$=='a')]: `$` cannot stand in the field of a filter");
    refuses("/c[?(@.a..b=='a')]", "[?(@.a..b=='a')]: the filter has a field without a name");
    refuses("/c[?(@.n==a)]", "[?(@.n==a)]: the text that the field is compared with is not in quotes");
    refuses("/c[?(@.n==1)]", "[?(@.n==1)]: the text that the field is compared with is not in quotes");
    refuses("/c[?(@.n=='a'/image", "[?(@.n=='a'/image: the filter does not end with `)]` after its text");
    refuses("/c[?(@.n=='a')/image", "[?(@.n=='a')/image: the filter does not end with `)]` after its text");
    refuses("/c[?(@.n=='a", "[: `[` is not closed");
    refuses("/c[?(@.n", "[: `[` is not closed");
}

#[test]
fn text_that_is_put_in_is_never_syntax() {
    protects("/data/«a/b[0]~1»", r#""data" "a/b[0]~1""#);
    protects("/c[?(@.n=='«x')]/y[?(@.m=='z»')]/image", r#""c" n=="x')]/y[?(@.m=='z" "image""#);
    protects("/c[?(@.n=='«a' && @.b=='c»')]", r#""c" n=="a' && @.b=='c""#);
    protects("/c[?(@.«a.b/c»=='d')]", r#""c" a.b/c=="d""#);
    protects("/d/['«x']/y»']", r#""d" "x']/y""#);
    protects("/d/a«~»1", r#""d" "a~1""#);
    protects("/d/«-»", r#""d" "-""#);
    protects("/d/«»-", r#""d" "-""#);
    protects("/d/~«»1", r#""d" "~1""#);
    protects("/d/«-»/x", r#""d" "-" "x""#);
}

#[test]
fn text_that_is_put_in_may_name_an_item_or_a_part_of_a_key() {
    protects("/l/«0»/x", r#""l" 0=(0) "x""#);
    protects("/l[«2»]", r#""l" [2]"#);
    protects("/d/pre-«a»-«b»", r#""d" "pre-a-b""#);
    protects("/d/x«»", r#""d" "x""#);
    protects("/c[?(@.n=='«»')]", r#""c" n=="""#);
}

#[test]
fn a_path_of_expressions_is_checked_and_tells_where_each_segment_is_written() {
    let pieces = [
        PathPiece::Literal("/l["),
        PathPiece::Expression("${a[0]}"),
        PathPiece::Literal("]/c[?(@.n=='"),
        PathPiece::Expression("${x + '/y'}"),
        PathPiece::Literal("')]/"),
        PathPiece::Expression("${k}"),
    ];
    let path = PatchPath::from_pieces(&pieces).unwrap();
    assert_eq!(form(&path), r#""l" ${a[0]}=() "c" n=="${x + '/y'}" "${k}""#);
    let written = |number| {
        let (position, length) = path.position(number);
        let start = usize::try_from(position.column).unwrap() - 1;
        path.text().chars().skip(start).take(length as usize).collect::<String>()
    };
    assert_eq!([1, 3, 4].map(written), ["[${a[0]}]", "[?(@.n=='${x + '/y'}')]", "${k}"]);
    let pieces =
        [PathPiece::Literal("/c[?(@.n!='"), PathPiece::Expression("${x}"), PathPiece::Literal("')]")];
    assert!(PatchPath::from_pieces(&pieces).is_err());
}

#[test]
fn a_segment_of_nothing_but_empty_text_is_refused() {
    for path in ["/data/«»", "/data/«»/x", "«»/x", "/«»«»", "/l/«»[0]", "/l[0]«»[1]", "/l[0]«»"]
    {
        assert_eq!(with_text(path), Err("the text that is put in here is empty".to_owned()), "{path}");
    }
    assert_eq!(with_text("/l[«*»]"), Err("`*` is no index".to_owned()));
    assert_eq!(with_text("/l[«»*]"), Err("`*` is no index".to_owned()));
    assert_eq!(with_text("/l[«?(@.a=='b')»]"), Err("`?(@.a=='b')` is no index".to_owned()));
}

#[test]
fn a_filter_compares_text() {
    let list = r#"{"l":[{"v":80},{"v":10000000},{"v":1.5},{"v":true},{"v":null},{"v":"s"},{"v":{"w":"x"}},{"v":3.0}]}"#;
    for (text, index) in [("80", 0), ("10000000", 1), ("1.5", 2), ("true", 3), ("", 4), ("s", 5), ("3", 7)] {
        let want = super::run(list, &format!("replace /l/{index} <- 9")).unwrap().0.to_string();
        check(list, &format!("replace /l[?(@.v=='{text}')] <- 9"), &want);
    }
    for text in ["1e+07", "080", "8", "800", "True", "null", "an object", "{}"] {
        check_fails(list, &format!("replace /l[?(@.v=='{text}')] <- 9"), PathPatchErrorKind::NoMatch);
    }
    check(list, "add /l[?(@.v.w=='x')]/y <- 1", &list.replace(r#""w":"x"}"#, r#""w":"x"},"y":1"#));
}

#[test]
fn failures_name_the_segment_and_what_may_have_been_meant() {
    let document =
        r#"{"spec":{"replicas":1,"containers":[{"name":"app","image":"a"},{"name":"side"}],"none":[]}}"#;
    let says = |operation: &str, want: &str| check_says(document, operation, want);
    says("replace /spec/replica <- 2", "replica: `/spec` has no key `replica` | did you mean `replicas`?");
    says(
        "replace /spec/other <- 2",
        "other: `/spec` has no key `other` | `replace` needs something that is there; `add` sets it in any case",
    );
    says(
        "replace /spec/other/0/name <- 2",
        "other: `/spec` has no key `other` | `replace` needs something that is there; `add` a whole `other`",
    );
    says("replace /spex/replicas <- 2", "spex: the document has no key `spex` | did you mean `spec`?");
    says(
        "add /spec/containers[?(@.name=='apo')]/x <- 1",
        "[?(@.name=='apo')]: `[?(@.name=='apo')]` does not match any of the 2 items of `/spec/containers` | did you mean `app`?",
    );
    says(
        "remove /spec/containers[?(@.name=='zzz')]",
        "[?(@.name=='zzz')]: `[?(@.name=='zzz')]` does not match any of the 2 items of `/spec/containers` | `name` is `app`, `side`",
    );
    says(
        "remove /spec/containers[?(@.nmae=='app')]",
        "[?(@.nmae=='app')]: `[?(@.nmae=='app')]` does not match any of the 2 items of `/spec/containers` | no item has the field `nmae`; did you mean `name`?",
    );
    check_says(
        r#"{"r":[{"l":[{"n":"a"}]},{"l":[]},{"l":[]}]}"#,
        "remove /r[*]/l[?(@.n=='c')]",
        "[?(@.n=='c')]: `[?(@.n=='c')]` does not match the only item of `/r/0/l`, nor in 2 other lists | `n` is `a`",
    );
    says("add /spec/none[*]/x <- 1", "[*]: `[*]` chooses nothing: `/spec/none` is an empty list | ");
    says("add /spec/hosts[*]/x <- 1", "[*]: `[*]` needs a list, and `/spec/hosts` is missing | ");
    says(
        "add /spec/containers/app/x <- 1",
        "app: `/spec/containers` is a list, which has no key `app` | choose items with an index, `[*]` or a filter such as `[?(@.name=='app')]`",
    );
    says(
        "add /spec/container[*]/x <- 1",
        "[*]: `[*]` needs a list, and `/spec/container` is missing | did you mean `containers` instead of `container`?",
    );
    says("add /spec/replicas/x <- 1", "x: `/spec/replicas` is a number, which has no key `x` | ");
    says(
        "remove /spec/containers/5",
        "5: index `5` is out of range: `/spec/containers` has 2 items | a filter such as `[?(@.name=='app')]` does not depend on the order",
    );
    says(
        "add /spec/containers/2 <- 1",
        "2: index `2` is out of range: `/spec/containers` has 2 items | `-` appends; a filter such as `[?(@.name=='app')]` does not depend on the order",
    );
    says("add /spec/- <- 1", "-: `-` needs a list, and `/spec` is an object | a key `-` is written `['-']`");
    says(
        "add /spec/new/0 <- 1",
        "0: `0` needs a list, and `/spec/new` is missing | to make an object with this key, write `['0']`",
    );
    says(
        "remove /spec/containers/-",
        "-: `-` is the place after the last item, where there is nothing to remove | ",
    );
}

/// Compares a filled form with the same path read anew; `§` in `written` is where `texts` are put in.
#[track_caller]
fn fill(written: &str, texts: &[&str], is_quick: bool) {
    let literals: Vec<&str> = written.split('§').collect();
    let mix = |middle: &dyn Fn(usize) -> PathPiece<'static>| -> Vec<PathPiece<'static>> {
        let literals = literals.iter().map(|text| PathPiece::Literal(String::leak((*text).to_owned())));
        literals
            .enumerate()
            .flat_map(|(at, literal)| [(at > 0).then(|| middle(at - 1)), Some(literal)])
            .flatten()
            .collect()
    };
    let form = PatchPathTemplate::new(&mix(&|_| PathPiece::Expression("e.x")));
    let owned: Vec<Text> = texts.iter().map(Text::new).collect();
    let filled = form.and_then(|form| form.fill(owned.iter()));
    assert_eq!(filled.is_some(), is_quick, "{written}");
    if let Some(filled) = filled {
        let read =
            PatchPath::from_pieces(&mix(&|at| PathPiece::Text(String::leak(texts[at].to_owned())))).unwrap();
        assert_eq!(filled, read, "{written}");
    }
}

#[test]
fn a_form_gives_the_path_that_reading_it_gives() {
    fill("/a/§/b", &["x"], true);
    fill("/a/§/b/§", &["a long key/with ~1 in it", "7"], true);
    fill("/a[?(@.name=='§')]/§/-", &["it's", "-"], true);
    fill("/§[?(@.a.b==\"§\")][0]", &["list", "')]/x"], true);
    fill("a/§", &["+1"], true);
}

#[test]
fn what_is_put_into_a_part_of_a_segment_is_read_anew() {
    fill("/a/x§", &["1"], false);
    fill("/a/§§", &["1", "2"], false);
    fill("/a[?(@.§=='b')]", &["c"], false);
    fill("/a[?(@.b=='x§')]", &["c"], false);
    fill("/a[§]", &["0"], false);
    fill("/a/§", &[""], false);
}
