//! gzip. The decompressed size is limited, since a small input may expand to a huge one.

use std::io::{Read as _, Write as _};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use kubewright_golib::utf8::decode_utf8_lossy;

use super::{CelLibrary, MacroSet, inner_text_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of compression.
pub const ZIP: CelLibrary =
    CelLibrary { name: "gzip", functions: add_gzip_functions, macros: MacroSet::NONE, types: &[] };

/// The largest decompressed text, in bytes.
const MAX_DECOMPRESSED_BYTES: usize = 16 << 20;

/// The gzip header's code for an unknown operating system, so that the output is the same everywhere.
const UNKNOWN_SYSTEM: u8 = 255;

fn add_gzip_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("gzip.compress", &[CelKind::Any], CelKind::Bytes, gzip_compress)
            .help("a text compressed with gzip"),
    );
    functions.add(
        CelOverload::function("gzip.decompress", &[CelKind::Bytes], CelKind::String, gzip_decompress)
            .help("the text that was compressed with gzip"),
    );
}

fn gzip_compress<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let text = inner_text_argument(arguments, 0)?;
    call.work(text.len())?;
    let builder = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
    let mut writer = builder.write(Vec::new(), Compression::default());
    let written = writer.write_all(text.as_bytes()).and_then(|()| writer.finish());
    written.map(|bytes| Val::Bytes(bytes.into())).map_err(|error| CelFailure::value(error.to_string()))
}

fn gzip_decompress<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::Bytes(bytes)] = arguments else { return Err(CelFailure::mismatch()) };
    call.work(bytes.len() / 4)?;
    let mut reader = MultiGzDecoder::new(&bytes[..]);
    let mut unfolded = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut part).map_err(|error| CelFailure::value(error.to_string()))?;
        if count == 0 {
            return Ok(Val::text(decode_utf8_lossy(&unfolded)));
        }
        call.work(count / 4)?;
        if unfolded.len() + count > MAX_DECOMPRESSED_BYTES {
            return Err(CelFailure::value(format!("the text is longer than {MAX_DECOMPRESSED_BYTES} bytes")));
        }
        unfolded.extend_from_slice(part.get(..count).unwrap_or_default());
    }
}
