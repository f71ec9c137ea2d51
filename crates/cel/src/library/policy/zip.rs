//! Compressing texts. How far one unfolds is capped: a small text may hold a huge one.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use kubewright_golib::utf8::decode_utf8_lossy;

use super::{Library, Macros, held_text};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Val};

/// The library of compression.
pub const ZIP: Library = Library { name: "gzip", functions: add, macros: Macros::NONE, types: &[] };

/// How many bytes a text may unfold to.
const MOST_BYTES: usize = 16 << 20;

/// The operating system is left open, so that the same text always becomes the same bytes.
const UNKNOWN_SYSTEM: u8 = 255;

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("gzip.compress", &[Kind::Any], Kind::Bytes, compress)
            .help("a text compressed with gzip"),
    );
    functions.add(
        Overload::function("gzip.decompress", &[Kind::Bytes], Kind::String, decompress)
            .help("the text that was compressed with gzip"),
    );
}

fn compress<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let text = held_text(arguments, 0)?;
    call.work(text.len())?;
    let builder = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
    let mut writer = builder.write(Vec::new(), Compression::default());
    let written = writer.write_all(text.as_bytes()).and_then(|()| writer.finish());
    written.map(|bytes| Val::Bytes(bytes.into())).map_err(|error| Failure::value(error.to_string()))
}

fn decompress<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::Bytes(bytes)] = arguments else { return Err(Failure::mismatch()) };
    call.work(bytes.len() / 4)?;
    let mut reader = MultiGzDecoder::new(&bytes[..]);
    let mut unfolded = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut part).map_err(|error| Failure::value(error.to_string()))?;
        if count == 0 {
            return Ok(Val::text(decode_utf8_lossy(&unfolded)));
        }
        call.work(count / 4)?;
        if unfolded.len() + count > MOST_BYTES {
            return Err(Failure::value(format!("the text is longer than {MOST_BYTES} bytes")));
        }
        unfolded.extend_from_slice(part.get(..count).unwrap_or_default());
    }
}
