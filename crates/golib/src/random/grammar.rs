//! A regular expression as a recipe for texts. It was compiled before, so it is well formed.
//!
//! Where very many characters would do, as for `.` and `[^a]`, the printable ones of ASCII are taken.

use std::iter::Peekable;
use std::str::Chars;

/// The maximum nesting depth of groups.
const MAX_DEPTH: u32 = 64;

pub(super) enum GrammarNode {
    Sequence(Vec<GrammarNode>),
    Either(Vec<GrammarNode>),
    Repeat { inner: Box<GrammarNode>, least: u32, most: Option<u32> },
    One(CharacterChoice),
}

/// The characters that are possible in a place, as ranges.
#[derive(Default)]
pub(super) struct CharacterChoice(Vec<(char, char)>);

impl CharacterChoice {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(from, to)| char_span(*from, *to)).sum()
    }

    pub(super) fn get(&self, mut place: usize) -> Option<char> {
        for (from, to) in &self.0 {
            let size = char_span(*from, *to);
            if place < size {
                let code = u32::from(*from) + u32::try_from(place).ok()?;
                // Between the ends there can be surrogates, which are not characters.
                return char::from_u32(code).or(Some(*from));
            }
            place -= size;
        }
        None
    }

    fn has(&self, c: char) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&c))
    }

    fn single(c: char) -> Self {
        Self(vec![(c, c)])
    }

    fn not(&self) -> Self {
        Self((' '..='~').filter(|c| !self.has(*c)).map(|c| (c, c)).collect())
    }
}

fn char_span(from: char, to: char) -> usize {
    (u32::from(to).saturating_sub(u32::from(from)) as usize).saturating_add(1)
}

/// Reads `pattern`.
pub(super) fn parse_grammar(pattern: &str) -> Result<GrammarNode, String> {
    let mut reader = GrammarReader { rest: pattern.chars().peekable(), depth: 0 };
    let node = reader.either()?;
    match reader.rest.next() {
        None => Ok(node),
        Some(c) => Err(unsupported_syntax(&c.to_string())),
    }
}

struct GrammarReader<'p> {
    rest: Peekable<Chars<'p>>,
    depth: u32,
}

impl GrammarReader<'_> {
    fn either(&mut self) -> Result<GrammarNode, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("groups nest deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let mut branches = vec![self.sequence()?];
        while self.rest.next_if_eq(&'|').is_some() {
            branches.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(match branches.len() {
            1 => branches.pop().unwrap_or(GrammarNode::Sequence(Vec::new())),
            _ => GrammarNode::Either(branches),
        })
    }

    fn sequence(&mut self) -> Result<GrammarNode, String> {
        let mut parts = Vec::new();
        while let Some(c) = self.rest.next_if(|c| !matches!(c, '|' | ')')) {
            let node = match c {
                '(' => self.group()?,
                '[' => GrammarNode::One(self.class()?),
                '.' => GrammarNode::One(CharacterChoice(vec![(' ', '~')])),
                '^' | '$' => continue,
                '\\' => match self.escape()? {
                    Some(choice) => GrammarNode::One(choice),
                    None => continue,
                },
                c => GrammarNode::One(CharacterChoice::single(c)),
            };
            parts.push(self.repeated(node));
        }
        Ok(GrammarNode::Sequence(parts))
    }

    fn group(&mut self) -> Result<GrammarNode, String> {
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next() {
                Some(':') => {}
                Some('P' | '<') => while self.rest.next().is_some_and(|c| c != '>') {},
                _ => return Err(unsupported_syntax("flags")),
            }
        }
        let inner = self.either()?;
        self.rest.next_if_eq(&')');
        Ok(inner)
    }

    /// Repetitions cannot be repeated themselves, so there is one at most.
    fn repeated(&mut self, node: GrammarNode) -> GrammarNode {
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts() {
                Some(counts) => counts,
                None => return node,
            },
            _ => return node,
        };
        self.rest.next();
        // Whether it takes many or few makes no difference.
        self.rest.next_if_eq(&'?');
        GrammarNode::Repeat { inner: Box::new(node), least, most }
    }

    /// Reads `{2,3}` up to its closing brace; anything else in braces is literal.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let text: String = self.rest.clone().skip(1).take_while(|c| *c != '}').collect();
        let (least, most) = match text.split_once(',') {
            Some((least, "")) => (least.parse().ok()?, None),
            Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
            None => (text.parse().ok()?, Some(text.parse().ok()?)),
        };
        (0..=text.len()).for_each(|_| {
            self.rest.next();
        });
        Some((least, most))
    }

    fn class(&mut self) -> Result<CharacterChoice, String> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut choice = CharacterChoice::default();
        let mut is_first = true;
        while let Some(c) = self.rest.next() {
            if c == ']' && !is_first {
                break;
            }
            is_first = false;
            let from = match c {
                '[' if self.rest.peek() == Some(&':') => {
                    choice.0.extend(self.named()?.0);
                    continue;
                }
                '\\' => match self.escape()? {
                    Some(escaped) if escaped.len() == 1 => escaped.get(0).unwrap_or('\\'),
                    Some(escaped) => {
                        choice.0.extend(escaped.0);
                        continue;
                    }
                    None => continue,
                },
                c => c,
            };
            choice.0.push((from, self.range_end(from)?));
        }
        Ok(if is_negated { choice.not() } else { choice })
    }

    /// Reads the end of a range; one without an end is a single character.
    fn range_end(&mut self, from: char) -> Result<char, String> {
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || ahead.next().is_none_or(|c| c == ']') {
            return Ok(from);
        }
        self.rest.next();
        match self.rest.next() {
            Some('\\') => {
                Ok(self.escape()?.filter(|end| end.len() == 1).and_then(|end| end.get(0)).unwrap_or(from))
            }
            Some(to) => Ok(to.max(from)),
            None => Ok(from),
        }
    }

    fn named(&mut self) -> Result<CharacterChoice, String> {
        let name: String = self.rest.by_ref().take_while(|c| *c != ']').collect();
        let name = name.trim_matches(':');
        let (name, is_negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let ranges: &[(char, char)] = match name {
            "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
            "alpha" => &[('A', 'Z'), ('a', 'z')],
            "digit" => &[('0', '9')],
            "lower" => &[('a', 'z')],
            "upper" => &[('A', 'Z')],
            "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
            "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
            "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
            "space" | "blank" => &[(' ', ' ')],
            "print" | "ascii" => &[(' ', '~')],
            "graph" => &[('!', '~')],
            other => return Err(unsupported_syntax(&format!("[:{other}:]"))),
        };
        let choice = CharacterChoice(ranges.to_vec());
        Ok(if is_negated { choice.not() } else { choice })
    }

    /// Reads an escape after its backslash; nothing for one without length, as `\b`.
    fn escape(&mut self) -> Result<Option<CharacterChoice>, String> {
        let digits = || CharacterChoice(vec![('0', '9')]);
        let word = || CharacterChoice(vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
        let space = || CharacterChoice::single(' ');
        Ok(Some(match self.rest.next() {
            Some('d') => digits(),
            Some('D') => digits().not(),
            Some('w') => word(),
            Some('W') => word().not(),
            Some('s') => space(),
            Some('S') => space().not(),
            Some('b' | 'B' | 'A' | 'z') => return Ok(None),
            Some('n') => CharacterChoice::single('\n'),
            Some('t') => CharacterChoice::single('\t'),
            Some('r') => CharacterChoice::single('\r'),
            Some('f') => CharacterChoice::single('\u{c}'),
            Some('v') => CharacterChoice::single('\u{b}'),
            Some('a') => CharacterChoice::single('\u{7}'),
            Some(c) if c.is_ascii_alphanumeric() => return Err(unsupported_syntax(&format!("\\{c}"))),
            Some(c) => CharacterChoice::single(c),
            None => return Ok(None),
        }))
    }
}

fn unsupported_syntax(what: &str) -> String {
    format!("`random` cannot make up texts for `{what}`")
}
