//! Frames of HTTP/2, as far as a client needs them that sends one kind of request.

/// What a client says before its first frame.
const CLIENT_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Frames of which the server takes at least so many bytes.
const MAX_FRAME_BYTES: usize = 16 << 10;

/// What may be sent to us on one stream, and on all: everything.
const RECEIVE_WINDOW: u32 = 1 << 30;

/// The window of a connection, and of a stream, until another is told.
pub(super) const DEFAULT_WINDOW: u32 = 65_535;

const HEAD_BYTES: usize = 9;

/// The kinds of frames that matter here.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
}

/// The settings that matter here.
pub(super) mod setting {
    pub(super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(super) const ENABLE_PUSH: u16 = 2;
    pub(in super::super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in super::super) const INITIAL_WINDOW_SIZE: u16 = 4;
}

/// The flags that matter here. `ACK` is that of settings and pings.
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceivedFrame<'b> {
    pub(super) kind: u8,
    flags: u8,
    pub(super) stream: u32,
    payload: &'b [u8],
}

impl<'b> ReceivedFrame<'b> {
    /// Returns the first frame in `bytes` and what follows it, if all of it is there.
    pub(super) fn read(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let ([a, b, c, kind, flags, stream @ ..], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        let stream = u32::from_be_bytes(*stream) & 0x7fff_ffff;
        Some((Self { kind: *kind, flags: *flags, stream, payload }, rest))
    }

    pub(super) fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Returns whether nothing follows on the stream; of data and headers.
    pub(super) fn is_end(&self) -> bool {
        self.flags & END_STREAM != 0
    }

    /// Returns what is in it, without what is put around data and headers.
    pub(super) fn content(&self) -> &'b [u8] {
        let is_headers = self.kind == kind::HEADERS;
        let mut content = self.payload;
        let mut padding = 0;
        if (is_headers || self.kind == kind::DATA) && self.flags & PADDED != 0 {
            let Some((length, rest)) = content.split_first() else { return content };
            (padding, content) = (usize::from(*length), rest);
        }
        if is_headers && self.flags & PRIORITY != 0 {
            content = content.get(5..).unwrap_or_default();
        }
        content.get(..content.len().saturating_sub(padding)).unwrap_or_default()
    }

    /// Returns how much of the windows it takes.
    pub(super) fn window_bytes(&self) -> usize {
        if self.kind == kind::DATA { self.payload.len() } else { 0 }
    }

    /// Returns the number that is its last or only content.
    pub(super) fn number(&self) -> u32 {
        self.payload.last_chunk().map_or(0, |number| u32::from_be_bytes(*number))
    }

    /// Returns the settings in it.
    pub(super) fn settings(&self) -> impl Iterator<Item = (u16, u32)> + 'b {
        self.payload.chunks_exact(6).filter_map(|setting| {
            let (id, value) = (setting.first_chunk()?, setting.last_chunk()?);
            Some((u16::from_be_bytes(*id), u32::from_be_bytes(*value)))
        })
    }
}

/// Writes what a client begins with: answers need no memory of earlier ones to be read, and no permission to be sent.
pub(super) fn put_beginning(out: &mut Vec<u8>) {
    out.extend_from_slice(CLIENT_PREFACE);
    let settings = [
        (setting::HEADER_TABLE_SIZE, 0),
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, RECEIVE_WINDOW),
    ];
    put_head(out, settings.len() * 6, (kind::SETTINGS, 0), 0);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&u32::to_be_bytes(value));
    }
    put_window(out, RECEIVE_WINDOW - DEFAULT_WINDOW);
}

/// Allows so many bytes more on the connection.
pub(super) fn put_window(out: &mut Vec<u8>, bytes: u32) {
    put_head(out, 4, (kind::WINDOW_UPDATE, 0), 0);
    out.extend_from_slice(&bytes.to_be_bytes());
}

/// Acknowledges settings, or a ping.
pub(super) fn put_ack(out: &mut Vec<u8>, frame: &ReceivedFrame<'_>) {
    let payload = if frame.kind == kind::PING { frame.payload } else { &[] };
    put_head(out, payload.len(), (frame.kind, ACK), 0);
    out.extend_from_slice(payload);
}

/// Writes a request with the fields of `block`.
pub(super) fn put_request(out: &mut Vec<u8>, stream: u32, block: &[u8], body: &[u8]) {
    put_head(out, block.len(), (kind::HEADERS, END_HEADERS), stream);
    out.extend_from_slice(block);
    let mut parts = body.chunks(MAX_FRAME_BYTES).peekable();
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() { END_STREAM } else { 0 };
        put_head(out, part.len(), (kind::DATA, flags), stream);
        out.extend_from_slice(part);
    }
}

/// Returns the fields of a request that posts JSON, of which none is remembered for the next.
pub(super) fn request_block(path: &str, authority: &str, token: Option<&str>) -> Vec<u8> {
    // `:method: POST` and `:scheme: https` are in the table that every side knows, with the names of the others.
    let mut block = vec![0x83, 0x87];
    put_field(&mut block, 4, path);
    put_field(&mut block, 1, authority);
    put_field(&mut block, 31, "application/json");
    if let Some(token) = token {
        put_field(&mut block, 23, &format!("Bearer {token}"));
    }
    block
}

fn put_field(block: &mut Vec<u8>, name: usize, value: &str) {
    put_integer(block, 0x0f, name);
    put_integer(block, 0x7f, value.len());
    block.extend_from_slice(value.as_bytes());
}

/// Writes a number of which the first byte has room for as much as `most`.
fn put_integer(block: &mut Vec<u8>, most: u8, number: usize) {
    let Some(mut rest) = number.checked_sub(usize::from(most)) else {
        block.push(u8::try_from(number).unwrap_or(most));
        return;
    };
    block.push(most);
    while rest >= 0x80 {
        block.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    block.push((rest & 0x7f) as u8);
}

fn put_head(out: &mut Vec<u8>, length: usize, (kind, flags): (u8, u8), stream: u32) {
    let [_, length @ ..] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_the_frames_it_was_written_as() {
        let (mut out, body) = (Vec::new(), vec![b'x'; MAX_FRAME_BYTES + 1]);
        put_request(&mut out, 5, b"fields", &body);
        let mut rest = out.as_slice();
        let mut seen = Vec::new();
        while let Some((frame, after)) = ReceivedFrame::read(rest) {
            seen.push((frame.kind, frame.stream, frame.content().len(), frame.is_end()));
            rest = after;
        }
        let want =
            [(kind::HEADERS, 5, 6, false), (kind::DATA, 5, MAX_FRAME_BYTES, false), (kind::DATA, 5, 1, true)];
        assert_eq!(seen, want);
        assert!(rest.is_empty());
        assert_eq!(
            ReceivedFrame::read(out.get(..20).unwrap()).map(|(frame, _)| frame.kind),
            Some(kind::HEADERS)
        );
        assert_eq!(ReceivedFrame::read(out.get(..14).unwrap()), None);
    }

    #[test]
    fn numbers_are_written_as_rfc_7541_has_them() {
        let written = |most, number| {
            let mut block = Vec::new();
            put_integer(&mut block, most, number);
            block
        };
        assert_eq!(written(0x1f, 10), [10]);
        assert_eq!(written(0x1f, 1337), [31, 154, 10]);
        assert_eq!(written(0x0f, 31), [15, 16]);
    }
}
