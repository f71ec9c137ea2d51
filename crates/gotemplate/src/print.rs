//! Items to text as Go's `fmt` prints them.
//!
//! One deliberate difference: a JSON number that is a whole number prints without an exponent.

use std::fmt::Write as _;

use kubewright_golib::float;
use kubewright_golib::quote::{quote_ascii, quote_bytes, quote_go};
use kubewright_golib::utf8::decode_utf8_lossy;
use kubewright_value::{Budget, Exhausted, Number};

use super::context::TemplateContext;
use super::item::TemplateItem;

/// A verb of `printf` with its flags.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PrintSpec {
    pub verb: char,
    pub sharp: bool,
    pub go_syntax: bool,
    pub zero: bool,
    pub plus: bool,
    pub minus: bool,
    pub space: bool,
    pub width: Option<usize>,
    pub precision: Option<usize>,
}

impl PrintSpec {
    /// The verb `%v` without flags.
    pub(super) const PLAIN: Self = Self {
        verb: 'v',
        sharp: false,
        go_syntax: false,
        zero: false,
        plus: false,
        minus: false,
        space: false,
        width: None,
        precision: None,
    };
}

/// Prints into a string and charges the budget for every byte of it.
pub(super) struct Printer<'a> {
    pub out: String,
    pub budget: &'a mut Budget,
    pub context: &'a TemplateContext,
}

type PrintResult = Result<(), Exhausted>;

impl Printer<'_> {
    /// Appends text.
    pub(super) fn push(&mut self, text: &str) -> PrintResult {
        self.budget.produce(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    /// Appends `item` as `%v` prints it.
    pub(super) fn plain(&mut self, item: &TemplateItem) -> PrintResult {
        match item {
            TemplateItem::Text(text) => self.push(text),
            TemplateItem::Int(_, value) => {
                let start = self.out.len();
                let _ = write!(self.out, "{value}");
                self.budget.produce(self.out.len() - start)
            }
            other => self.print(other, &PrintSpec::PLAIN),
        }
    }

    /// Appends `item` as the verb says.
    pub(super) fn print(&mut self, item: &TemplateItem, spec: &PrintSpec) -> PrintResult {
        if spec.verb == 'T' {
            return self.string(item.type_name(), &PrintSpec { verb: 's', ..*spec });
        }
        if item.is_nil() {
            return match spec.verb {
                'v' => self.pad("<nil>", spec),
                verb => self.push(&format!("%!{verb}(<nil>)")),
            };
        }
        self.value(item, spec)
    }

    fn value(&mut self, item: &TemplateItem, spec: &PrintSpec) -> PrintResult {
        self.budget.step(1)?;
        match item {
            TemplateItem::Missing | TemplateItem::Nil if spec.go_syntax => self.push("interface {}(nil)"),
            TemplateItem::Missing | TemplateItem::Nil => self.push("<nil>"),
            TemplateItem::Bool(value) => match spec.verb {
                'v' | 't' => self.pad(if *value { "true" } else { "false" }, spec),
                _ => self.bad_verb(item, spec),
            },
            TemplateItem::Int(width, value) => {
                self.integer(item, i128::from(*value), width.is_unsigned(), spec)
            }
            // A precision is one of significant digits, as for the double that Go has here.
            TemplateItem::Number(number) if spec.verb == 'v' && spec.precision.is_none() => {
                match number.normalized() {
                    Number::Int(value) => self.integer(item, i128::from(value), false, spec),
                    Number::UInt(value) => self.integer(item, i128::from(value), false, spec),
                    Number::Float(value) => self.float(item, value, spec),
                }
            }
            TemplateItem::Number(number) => self.float(item, number.as_f64(), spec),
            TemplateItem::Float(value) => self.float(item, *value, spec),
            TemplateItem::Text(text) => self.text(item, text, spec),
            TemplateItem::Bytes(bytes) if spec.verb == 'q' => self.pad(&quote_bytes(bytes), spec),
            TemplateItem::Bytes(bytes) if matches!(spec.verb, 'x' | 'X') => self.hexadecimal(bytes, spec),
            TemplateItem::Bytes(bytes) => self.text(item, &decode_utf8_lossy(bytes), spec),
            TemplateItem::Array(_) | TemplateItem::List(_) => self.nested(|p| p.list(item, spec)),
            TemplateItem::Object(_) | TemplateItem::Dict(_) => self.nested(|p| p.map(item, spec)),
            TemplateItem::Time(time) => self.text(item, &time.to_string(), spec),
            TemplateItem::Version(version) => self.text(item, &version.to_string(), spec),
            TemplateItem::Root => self.nested(|p| p.root(spec)),
        }
    }

    fn nested(&mut self, print: impl FnOnce(&mut Self) -> PrintResult) -> PrintResult {
        self.budget.enter()?;
        let printed = print(self);
        self.budget.leave();
        printed
    }

    fn list(&mut self, item: &TemplateItem, spec: &PrintSpec) -> PrintResult {
        let (open, between, close) = if spec.go_syntax { ("{", ", ", "}") } else { ("[", " ", "]") };
        if spec.go_syntax {
            self.push(item.type_name())?;
        }
        self.push(open)?;
        for index in 0..item.list_len().unwrap_or(0) {
            if index > 0 {
                self.push(between)?;
            }
            self.value(&item.element(index).unwrap_or(TemplateItem::Nil), spec)?;
        }
        self.push(close)
    }

    fn map(&mut self, item: &TemplateItem, spec: &PrintSpec) -> PrintResult {
        let (open, between, close) = if spec.go_syntax { ("{", ", ", "}") } else { ("map[", " ", "]") };
        if spec.go_syntax {
            self.push(item.type_name())?;
        }
        self.push(open)?;
        for (i, (key, value)) in item.sorted_entries().unwrap_or_default().into_iter().enumerate() {
            if i > 0 {
                self.push(between)?;
            }
            self.value(&TemplateItem::Text(key), spec)?;
            self.push(":")?;
            self.value(&value, spec)?;
        }
        self.push(close)
    }

    fn root(&mut self, spec: &PrintSpec) -> PrintResult {
        let context = self.context;
        self.push("{")?;
        for (i, (_, item)) in context.items().enumerate() {
            if i > 0 {
                self.push(" ")?;
            }
            self.value(&item, spec)?;
        }
        self.push("}")
    }

    fn text(&mut self, item: &TemplateItem, text: &str, spec: &PrintSpec) -> PrintResult {
        match spec.verb {
            'v' if spec.go_syntax => self.pad(&quote_go(text), spec),
            'v' | 's' => self.string(text, spec),
            'q' => {
                let shown = first_characters(text, spec.precision);
                let backquoted = spec.sharp
                    && !shown.contains(['`', '\u{7f}'])
                    && !shown.contains(|c: char| c < ' ' && c != '\t');
                self.pad(
                    &if backquoted {
                        format!("`{shown}`")
                    } else if spec.plus {
                        quote_ascii(shown)
                    } else {
                        quote_go(shown)
                    },
                    spec,
                )
            }
            'x' | 'X' => self.hexadecimal(text.as_bytes(), spec),
            _ => self.bad_verb(item, spec),
        }
    }

    fn hexadecimal(&mut self, bytes: &[u8], spec: &PrintSpec) -> PrintResult {
        let kept = bytes.get(..spec.precision.unwrap_or(bytes.len())).unwrap_or(bytes);
        self.budget.produce(kept.len().saturating_mul(2))?;
        let write = |b: &u8| if spec.verb == 'x' { format!("{b:02x}") } else { format!("{b:02X}") };
        self.pad(&kept.iter().map(write).collect::<String>(), spec)
    }

    fn string(&mut self, text: &str, spec: &PrintSpec) -> PrintResult {
        self.pad(first_characters(text, spec.precision), spec)
    }

    fn integer(&mut self, item: &TemplateItem, value: i128, unsigned: bool, spec: &PrintSpec) -> PrintResult {
        let size = value.unsigned_abs();
        let mut digits = match spec.verb {
            'v' | 'd' => size.to_string(),
            'b' => format!("{size:b}"),
            'o' | 'O' => format!("{size:o}"),
            'x' => format!("{size:x}"),
            'X' => format!("{size:X}"),
            'c' | 'q' | 'U' => return self.character(value, spec),
            _ => return self.bad_verb(item, spec),
        };
        if spec.go_syntax && unsigned {
            digits = format!("0x{size:x}");
        }
        let sign = if value < 0 {
            "-"
        } else if spec.plus {
            "+"
        } else if spec.space {
            " "
        } else {
            ""
        };
        if spec.precision == Some(0) && size == 0 {
            return self.pad("", &PrintSpec { zero: false, ..*spec });
        }
        let zeros = match (spec.precision, spec.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if spec.zero && !spec.minus => width.saturating_sub(sign.len()),
            _ => 0,
        };
        let missing = zeros.saturating_sub(digits.len());
        self.budget.produce(missing)?;
        digits.insert_str(0, &"0".repeat(missing));
        let prefix = match spec.verb {
            'O' => "0o",
            'b' if spec.sharp => "0b",
            'o' if spec.sharp && !digits.starts_with('0') => "0",
            'x' if spec.sharp => "0x",
            'X' if spec.sharp => "0X",
            _ => "",
        };
        self.pad(&format!("{sign}{prefix}{digits}"), &PrintSpec { zero: false, ..*spec })
    }

    fn character(&mut self, value: i128, spec: &PrintSpec) -> PrintResult {
        let character = u32::try_from(value).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
        match spec.verb {
            'c' => self.pad(character.encode_utf8(&mut [0; 4]), spec),
            'q' => {
                let quoted = quote_go(character.encode_utf8(&mut [0; 4]));
                let inner = quoted.trim_matches('"');
                let shown = match character {
                    '\'' => "'\\''".to_owned(),
                    '"' => "'\"'".to_owned(),
                    _ => format!("'{inner}'"),
                };
                self.pad(&shown, spec)
            }
            _ => {
                let code = format!("U+{value:04X}");
                self.pad(&if spec.sharp { format!("{code} '{character}'") } else { code }, spec)
            }
        }
    }

    fn float(&mut self, item: &TemplateItem, value: f64, spec: &PrintSpec) -> PrintResult {
        let (verb, default) = match spec.verb {
            'v' => ('g', None),
            'e' | 'E' | 'f' | 'F' => (spec.verb, Some(6)),
            'b' | 'g' | 'G' | 'x' | 'X' => (spec.verb, None),
            _ => return self.bad_verb(item, spec),
        };
        let precision = spec.precision.or(default);
        self.budget.produce(precision.unwrap_or(0))?;
        let text = float::format_float(value, if verb == 'F' { 'f' } else { verb }, precision);
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) if text.starts_with('-') => ("-", digits),
            rest => (
                if spec.plus || (spec.verb == 'v' && text.starts_with('+')) || text.starts_with('+') {
                    "+"
                } else if spec.space {
                    " "
                } else {
                    ""
                },
                rest.unwrap_or(&text),
            ),
        };
        if !value.is_finite() {
            return self.pad(&format!("{sign}{digits}"), &PrintSpec { zero: false, ..*spec });
        }
        if spec.zero && !spec.minus {
            let missing = spec.width.unwrap_or(0).saturating_sub(sign.len() + digits.len());
            self.push(sign)?;
            self.budget.produce(missing)?;
            self.out.extend(std::iter::repeat_n('0', missing));
            return self.push(digits);
        }
        self.pad(&format!("{sign}{digits}"), spec)
    }

    /// Says that the verb does not fit; width and precision still hold.
    fn bad_verb(&mut self, item: &TemplateItem, spec: &PrintSpec) -> PrintResult {
        self.push(&format!("%!{}({}=", spec.verb, item.type_name()))?;
        self.value(item, &PrintSpec { verb: 'v', ..*spec })?;
        self.push(")")
    }

    fn pad(&mut self, text: &str, spec: &PrintSpec) -> PrintResult {
        let Some(width) = spec.width else {
            return self.push(text);
        };
        let missing = width.saturating_sub(text.chars().count());
        self.budget.produce(missing)?;
        if spec.minus {
            self.push(text)?;
            self.out.extend(std::iter::repeat_n(' ', missing));
            return Ok(());
        }
        self.out.extend(std::iter::repeat_n(if spec.zero { '0' } else { ' ' }, missing));
        self.push(text)
    }
}

/// Returns the first `count` characters.
fn first_characters(text: &str, count: Option<usize>) -> &str {
    let end = count.and_then(|count| text.char_indices().nth(count)).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
