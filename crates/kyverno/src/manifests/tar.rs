//! The files of a tar archive, as far as signed manifests need it: regular files, by their content.

const BLOCK: usize = 512;
/// Where a header has the size, in octal digits, and the type.
const SIZE: std::ops::Range<usize> = 124..136;
const TYPE: usize = 156;

/// Returns the content of every regular file with a name of its own.
pub(super) fn tar_files(archive: &[u8]) -> impl Iterator<Item = Result<&[u8], String>> {
    TarFiles { rest: archive }
}

struct TarFiles<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TarFiles<'a> {
    type Item = Result<&'a [u8], String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let header = match self.rest.get(..BLOCK) {
                Some(header) if header.iter().any(|byte| *byte != 0) => header,
                // Zeros end an archive.
                Some(_) => return None,
                None if self.rest.is_empty() => return None,
                None => return self.stop(),
            };
            let Some(size) = header.get(SIZE).and_then(parse_octal_field) else { return self.stop() };
            let Some(content) = self.rest.get(BLOCK..BLOCK.saturating_add(size)) else { return self.stop() };
            let length = size.div_ceil(BLOCK).saturating_mul(BLOCK).saturating_add(BLOCK);
            self.rest = self.rest.get(length..).unwrap_or_default();
            if matches!(header.get(TYPE), Some(b'0' | 0)) && !header.starts_with(b"..") {
                return Some(Ok(content));
            }
        }
    }
}

impl TarFiles<'_> {
    fn stop<T>(&mut self) -> Option<Result<T, String>> {
        self.rest = &[];
        Some(Err("the archive is not complete".to_owned()))
    }
}

/// Reads octal digits, with spaces and zero bytes around them.
fn parse_octal_field(field: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(field).ok()?;
    usize::from_str_radix(text.trim_matches(|c| c == ' ' || c == '\0'), 8).ok()
}
