//! Go's `printf`: the format string.

use super::item::TemplateItem;
use super::print::{PrintSpec, Printer};

/// Appends `arguments` as `format` says.
pub(super) fn printf(
    printer: &mut Printer<'_>,
    format: &str,
    arguments: &[TemplateItem],
) -> Result<(), kubewright_value::Exhausted> {
    let mut state = PrintfFormat { rest: format, arguments, next: 0, is_reordered: false };
    loop {
        let at = state.rest.find('%').unwrap_or(state.rest.len());
        let (plain, rest) = state.rest.split_at(at);
        printer.push(plain)?;
        let Some(rest) = rest.strip_prefix('%') else {
            break;
        };
        state.rest = rest;
        if !state.directive(printer)? {
            break;
        }
    }
    state.extra(printer)
}

struct PrintfFormat<'a> {
    rest: &'a str,
    arguments: &'a [TemplateItem],
    next: usize,
    is_reordered: bool,
}

/// Go refuses larger widths.
const MAX_NUMBER: usize = 1_000_000;

impl PrintfFormat<'_> {
    /// Handles one `%…`; returns whether the format goes on.
    fn directive(&mut self, printer: &mut Printer<'_>) -> Result<bool, kubewright_value::Exhausted> {
        printer.budget.step(1)?;
        let mut spec = self.flags();
        let mut good = true;
        let mut after_index = self.index(&mut good);
        if self.take('*') {
            match self.argument_number() {
                Some(width) => {
                    spec.minus |= width < 0;
                    spec.zero &= width >= 0;
                    spec.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => printer.push("%!(BADWIDTH)")?,
            }
            after_index = false;
        } else {
            spec.width = self.number();
            good &= !(after_index && spec.width.is_some());
        }
        if self.rest.len() > 1 && self.take('.') {
            good &= !after_index;
            after_index = self.index(&mut good);
            if self.take('*') {
                match self.argument_number() {
                    Some(precision) => spec.precision = usize::try_from(precision).ok(),
                    None => printer.push("%!(BADPREC)")?,
                }
                after_index = false;
            } else {
                spec.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.index(&mut good);
        }
        let mut characters = self.rest.chars();
        let Some(verb) = characters.next() else {
            printer.push("%!(NOVERB)")?;
            return Ok(false);
        };
        self.rest = characters.as_str();
        self.verb(printer, spec, verb, good)?;
        Ok(true)
    }

    fn verb(
        &mut self,
        printer: &mut Printer<'_>,
        mut spec: PrintSpec,
        verb: char,
        good: bool,
    ) -> Result<(), kubewright_value::Exhausted> {
        if verb == '%' {
            return printer.push("%");
        }
        if !good {
            return printer.push(&format!("%!{verb}(BADINDEX)"));
        }
        let Some(argument) = self.arguments.get(self.next) else {
            return printer.push(&format!("%!{verb}(MISSING)"));
        };
        self.next += 1;
        spec.verb = verb;
        if verb == 'v' {
            spec.go_syntax = spec.sharp;
            spec.sharp = false;
            spec.plus = false;
        }
        printer.print(argument, &spec)
    }

    fn flags(&mut self) -> PrintSpec {
        let mut spec = PrintSpec::default();
        loop {
            if self.take('#') {
                spec.sharp = true;
            } else if self.take('0') {
                spec.zero = true;
            } else if self.take('+') {
                spec.plus = true;
            } else if self.take('-') {
                spec.minus = true;
            } else if self.take(' ') {
                spec.space = true;
            } else {
                return spec;
            }
        }
    }

    /// Reads `[n]`, which chooses the next argument.
    fn index(&mut self, good: &mut bool) -> bool {
        let Some(inner) = self.rest.strip_prefix('[') else {
            return false;
        };
        self.is_reordered = true;
        let Some((number, rest)) = inner.split_once(']') else {
            *good = false;
            self.rest = inner;
            return false;
        };
        self.rest = rest;
        match number.parse::<usize>().ok().filter(|n| (1..=self.arguments.len()).contains(n)) {
            Some(number) => {
                self.next = number - 1;
                true
            }
            None => {
                *good = false;
                false
            }
        }
    }

    fn argument_number(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        match argument {
            TemplateItem::Int(_, value) if value.unsigned_abs() <= MAX_NUMBER as u64 => Some(*value),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<usize> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let value = digits.parse().ok().filter(|n| *n <= MAX_NUMBER);
        self.rest = rest;
        value
    }

    fn take(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn extra(&self, printer: &mut Printer<'_>) -> Result<(), kubewright_value::Exhausted> {
        let left = self.arguments.get(self.next..).unwrap_or_default();
        if self.is_reordered || left.is_empty() {
            return Ok(());
        }
        printer.push("%!(EXTRA ")?;
        for (i, argument) in left.iter().enumerate() {
            if i > 0 {
                printer.push(", ")?;
            }
            if argument.is_nil() {
                printer.push("<nil>")?;
            } else {
                printer.push(argument.type_name())?;
                printer.push("=")?;
                printer.plain(argument)?;
            }
        }
        printer.push(")")
    }
}
