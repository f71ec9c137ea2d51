//! New inputs from known ones: bytes changed, words of the language inserted, pieces copied and spliced.

use crate::random::FuzzRandom;

/// The maximum length of an input.
const MAX_INPUT_BYTES: usize = 4096;

const BYTES: &[u8] = b"\n\n  \t\r:-?,[]{}#&*!|>'\"%@`\\.~<=+_/$()0123456789abcxyzENTFtrue\0\x7f\xc2\x85\xff";

/// Returns a mutation of one of the `known` inputs.
pub(crate) fn mutate(random: &mut FuzzRandom, known: &[Vec<u8>], words: &[String]) -> Vec<u8> {
    let mut input = random.pick(known).cloned().unwrap_or_default();
    let rounds = 1 + random.below(4);
    for _ in 0..rounds {
        mutate_once(random, &mut input, known, words);
    }
    input.truncate(MAX_INPUT_BYTES);
    input
}

fn mutate_once(random: &mut FuzzRandom, input: &mut Vec<u8>, known: &[Vec<u8>], words: &[String]) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(12)).min(input.len());
    match random.below(9) {
        0 => drop(input.drain(at..end)),
        1 => input.insert(at, random.pick(BYTES).copied().unwrap_or(b' ')),
        2 => {
            if let (Some(byte), Some(new)) = (input.get_mut(at), random.pick(BYTES)) {
                *byte = *new;
            }
        }
        3 | 4 => {
            let word = random.pick(words).map_or(&b""[..], |word| word.as_bytes());
            drop(input.splice(at..end.min(at + random.below(3)), word.iter().copied()));
        }
        5 => {
            let word = random.pick(words).map_or(&b""[..], |word| word.as_bytes());
            drop(input.splice(at..at, word.iter().copied()));
        }
        6 => {
            let copy = input.get(at..end).unwrap_or_default().to_vec();
            let to = random.below(input.len() + 1);
            drop(input.splice(to..to, copy));
        }
        7 => splice(random, input, known, at),
        _ => mutate_line(random, input),
    }
}

/// Puts the end of another input behind the start of this one.
fn splice(random: &mut FuzzRandom, input: &mut Vec<u8>, known: &[Vec<u8>], at: usize) {
    let other = random.pick(known).map_or(&[][..], Vec::as_slice);
    let from = random.below(other.len() + 1);
    input.truncate(at);
    input.extend_from_slice(other.get(from..).unwrap_or_default());
}

/// Moves, doubles or indents a line.
fn mutate_line(random: &mut FuzzRandom, input: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    let Some(mut line) = lines.get(at).cloned() else {
        return;
    };
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => line.insert(0, b' '),
        2 if line.first() == Some(&b' ') => drop(line.remove(0)),
        _ => {}
    }
    let to = random.below(lines.len() + 1);
    lines.insert(to, line);
    *input = lines.join(&b'\n');
}
