use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::BodyDecoder;
use crate::Error;

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Decodes `bytes` that arrive in pieces of `piece` bytes.
fn decode(bytes: &[u8], piece: usize, limit: usize) -> Result<Vec<u8>, Error> {
    let mut decoder = BodyDecoder::gzip(limit);
    let mut decoded = Vec::new();
    for data in bytes.chunks(piece) {
        let mut pending = Bytes::copy_from_slice(data);
        while !pending.is_empty() {
            let piece = decoder.decode(&mut pending)?;
            assert!(piece.len() < 8 << 20, "a piece of {} bytes", piece.len());
            decoded.extend_from_slice(&piece);
        }
    }
    decoded.extend_from_slice(&decoder.finish()?.unwrap_or_default());
    Ok(decoded)
}

#[test]
fn a_compressed_body_is_decompressed_however_it_is_cut() {
    let text: Vec<u8> = (0..200_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
    let gzip = compressed(&text);
    for piece in [1, 7, 4096, gzip.len()] {
        assert_eq!(decode(&gzip, piece, text.len()).unwrap(), text, "in pieces of {piece}");
    }
}

#[test]
fn the_limit_counts_decompressed_bytes() {
    let bomb = compressed(&vec![0; 50 << 20]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(decode(&bomb, 4096, 1 << 20).unwrap_err(), Error::TooLarge(1 << 20));
    assert_eq!(decode(&bomb, bomb.len(), 1 << 20).unwrap_err(), Error::TooLarge(1 << 20));
    assert_eq!(decode(&bomb, bomb.len(), usize::MAX).unwrap().len(), 50 << 20);
}

#[test]
fn a_body_that_is_cut_off_or_damaged_is_an_error() {
    let mut gzip = compressed(b"one, two, three, four, five");
    let cut = gzip.get(..gzip.len() - 4).unwrap();
    assert!(matches!(decode(cut, 8, 1000), Err(Error::Unreadable(_))));
    *gzip.get_mut(15).unwrap() ^= 0xff;
    assert!(matches!(decode(&gzip, 8, 1000), Err(Error::Unreadable(_))));
    assert!(matches!(decode(b"not compressed", 8, 1000), Err(Error::Unreadable(_))));
}
