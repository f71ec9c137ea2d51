//! Sprig's random functions: the numbers come from the seed that the caller gives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::arguments::{int_argument, text_argument};
use super::{FunctionAccess, ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("randAlpha", &[ParameterType::Int], |call, a| {
        random_text(call, int_argument(a, 0), |c| c.is_ascii_alphabetic())
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("randNumeric", &[ParameterType::Int], |call, a| {
        random_text(call, int_argument(a, 0), |c| c.is_ascii_digit())
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("randAlphaNum", &[ParameterType::Int], |call, a| {
        random_text(call, int_argument(a, 0), |c| c.is_ascii_alphanumeric())
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("randAscii", &[ParameterType::Int], |call, a| {
        random_text(call, int_argument(a, 0), |c| (' '..='~').contains(&c))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("randBytes", &[ParameterType::Int], |call, a| {
        let bytes = charged_random_bytes(call, random_length(int_argument(a, 0))?)?;
        Ok(TemplateItem::text(STANDARD.encode(bytes)))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("randInt", &[ParameterType::Int, ParameterType::Int], |call, a| {
        let (low, high) = (int_argument(a, 0), int_argument(a, 1));
        let Some(span) = high.checked_sub(low).filter(|span| *span > 0) else {
            return Err("invalid argument to Intn".into());
        };
        Ok(TemplateItem::int(low + i64::try_from(next_random(call)? % span.unsigned_abs()).unwrap_or(0)))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("shuffle", &[ParameterType::Text], |call, a| {
        let mut characters: Vec<char> = text_argument(a, 0).chars().collect();
        call.charge_list(characters.len())?;
        for last in (1..characters.len()).rev() {
            let other = usize::try_from(next_random(call)? % (last as u64 + 1)).unwrap_or(0);
            characters.swap(last, other);
        }
        Ok(TemplateItem::text(characters.into_iter().collect::<String>()))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("uuidv4", &[], |call, _| {
        let mut value = (u128::from(next_random(call)?) << 64) | u128::from(next_random(call)?);
        value = (value & !(0xf << 76)) | (4 << 76);
        value = (value & !(0x3 << 62)) | (2 << 62);
        let hex = format!("{value:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
        Ok(TemplateItem::text(parts.join("-")))
    })
    .guarded(FunctionAccess::Unrepeatable),
];

fn random_length(count: i64) -> Result<usize, CallFailure> {
    usize::try_from(count).map_err(|_| "runtime error: makeslice: len out of range".into())
}

/// Returns `count` random characters; a negative count gives none, as in Sprig.
fn random_text(call: &mut FunctionCall<'_>, count: i64, wanted: fn(char) -> bool) -> CallResult {
    let count = usize::try_from(count).unwrap_or(0);
    call.charge(count)?;
    call.budget.step(count as u64)?;
    let alphabet: Vec<char> = (' '..='~').filter(|c| wanted(*c)).collect();
    let mut out = String::with_capacity(count);
    for _ in 0..count {
        let at = usize::try_from(next_random(call)? % alphabet.len() as u64).unwrap_or(0);
        out.extend(alphabet.get(at));
    }
    Ok(TemplateItem::text(out))
}

/// Returns random bytes.
pub(super) fn charged_random_bytes(
    call: &mut FunctionCall<'_>,
    count: usize,
) -> Result<Vec<u8>, CallFailure> {
    call.charge(count)?;
    call.budget.step(count as u64)?;
    let mut out = Vec::with_capacity(count + 8);
    while out.len() < count {
        out.extend(next_random(call)?.to_be_bytes());
    }
    out.truncate(count);
    Ok(out)
}

/// The next number of a SplitMix64 sequence.
fn next_random(call: &mut FunctionCall<'_>) -> Result<u64, CallFailure> {
    if call.inputs.random_seed.is_none() {
        return Err("no random seed was given".into());
    }
    call.random = call.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (call.random ^ (call.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Ok(mixed ^ (mixed >> 31))
}
