//! Ranges: `1-10`, `1Mi-1Gi`, `-5--1`, `10m-2h`.

use std::cmp::Ordering;

use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;

/// A range; both ends belong to it.
#[derive(Debug, Clone)]
pub(super) struct ValueRange {
    written: String,
    low: RangeBound,
    high: RangeBound,
    /// The position of the hyphen between the ends.
    pub(super) hyphen: usize,
}

#[derive(Debug, Clone)]
struct RangeBound {
    duration: Option<Duration>,
    quantity: Option<Quantity>,
}

impl ValueRange {
    /// Reads `text`: two numbers with an optional sign and letters behind them, and a hyphen between them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let hyphen = range_number_length(text)?;
        let (low, rest) = text.split_at_checked(hyphen)?;
        let high = rest.strip_prefix('-')?;
        let is_whole = range_number_length(high) == Some(high.len());
        is_whole.then(|| Self {
            written: text.to_owned(),
            low: RangeBound::parse(low),
            high: RangeBound::parse(high),
            hyphen,
        })
    }

    /// Returns whether `text` is in the range, or is written like it.
    pub(super) fn contains(&self, text: &str) -> bool {
        text == self.written
            || (self.low.compare(text).is_some_and(Ordering::is_ge)
                && self.high.compare(text).is_some_and(Ordering::is_le))
    }

    /// Returns whether `text` is outside the range. A value that cannot be compared is neither inside nor outside.
    pub(super) fn excludes(&self, text: &str) -> bool {
        self.low.compare(text).is_some_and(Ordering::is_lt)
            || self.high.compare(text).is_some_and(Ordering::is_gt)
    }
}

impl RangeBound {
    fn parse(text: &str) -> Self {
        Self { duration: Duration::parse(text).ok(), quantity: Quantity::parse(text).ok() }
    }

    /// Compares `text` with this end: as durations, or else as quantities.
    fn compare(&self, text: &str) -> Option<Ordering> {
        if let Some(end) = self.duration
            && let Ok(duration) = Duration::parse(text)
        {
            return Some(duration.cmp(&end));
        }
        Some(Quantity::parse(text).ok()?.cmp(self.quantity.as_ref()?))
    }
}

/// Returns how long the number at the start of `text` is, with its sign and the letters behind it.
fn range_number_length(text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = usize::from(text.starts_with(['-', '+']));
    let whole = digits(text.get(length..)?);
    if whole == 0 {
        return None;
    }
    length += whole;
    let fraction = text.get(length..)?.strip_prefix('.').map_or(0, digits);
    if fraction > 0 {
        length += 1 + fraction;
    }
    Some(length + text.get(length..)?.bytes().take_while(u8::is_ascii_alphabetic).count())
}
