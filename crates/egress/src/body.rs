//! Bodies on their way through, counted. Chunks are read and written anew, so that nothing
//! that looks like a chunk to one side and like a request to the other gets through.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::head::Length;

const BUFFER: usize = 32 * 1024;
/// Digits of a chunk's size with what may follow them.
const MAX_CHUNK_LINE: usize = 256;
const MAX_TRAILERS: usize = 16 * 1024;

/// Why a body did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is longer than {0} bytes")]
    TooLong(u64),
    #[error("the body is malformed: {0}")]
    Malformed(&'static str),
    #[error("nothing came for {} s", .0.as_secs())]
    Silent(Duration),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A stream with the bytes that were read of it too early.
#[derive(Debug)]
pub(crate) struct Buffered<S> {
    stream: S,
    held: Vec<u8>,
    at: usize,
    patience: Duration,
}

impl<S: AsyncRead + Unpin> Buffered<S> {
    pub(crate) const fn new(stream: S, held: Vec<u8>, patience: Duration) -> Self {
        Self {
            stream,
            held,
            at: 0,
            patience,
        }
    }

    /// Whatever is there next, at most so much; nothing at the end.
    async fn next(&mut self, most: usize) -> Result<&[u8], BodyError> {
        if self.at == self.held.len() {
            self.held.resize(BUFFER, 0);
            let read = timeout(self.patience, self.stream.read(&mut self.held)).await;
            let read = read.map_err(|_| BodyError::Silent(self.patience))??;
            self.held.truncate(read);
            self.at = 0;
        }
        let end = self.held.len().min(self.at + most);
        let taken = &self.held[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A line without its CR and LF.
    async fn line(&mut self, most: usize) -> Result<Vec<u8>, BodyError> {
        let mut line = Vec::new();
        loop {
            match self.next(1).await? {
                [b'\n'] => {
                    return match line.pop() {
                        Some(b'\r') => Ok(line),
                        _ => Err(BodyError::Malformed("a line does not end with CR and LF")),
                    };
                }
                [byte] => line.push(*byte),
                _ => return Err(BodyError::Malformed("it ends within a line")),
            }
            // The CR of its end is in it too.
            if line.len() > most + 1 {
                return Err(BodyError::Malformed("a line is too long"));
            }
        }
    }
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Chunked,
    /// As it is: its length was said, or it ends with the connection.
    Plain,
}

/// Passes a body on, and says how long it was.
pub(crate) async fn pass<R, W>(
    from: &mut Buffered<R>,
    to: &mut W,
    length: Length,
    framing: Framing,
    most: u64,
) -> Result<u64, BodyError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut passed = 0_u64;
    match length {
        Length::None => return Ok(0),
        Length::Bytes(bytes) => {
            if bytes > most {
                return Err(BodyError::TooLong(most));
            }
            exactly(from, to, bytes, framing).await?;
            passed = bytes;
        }
        Length::UntilClose => loop {
            let bytes = from.next(BUFFER).await?;
            if bytes.is_empty() {
                break;
            }
            passed += bytes.len() as u64;
            if passed > most {
                return Err(BodyError::TooLong(most));
            }
            write(to, bytes, framing).await?;
        },
        Length::Chunked => loop {
            let size = chunk_size(&from.line(MAX_CHUNK_LINE).await?)?;
            if size == 0 {
                trailers(from).await?;
                break;
            }
            passed = passed.saturating_add(size);
            if passed > most {
                return Err(BodyError::TooLong(most));
            }
            exactly(from, to, size, framing).await?;
            if !from.line(0).await?.is_empty() {
                return Err(BodyError::Malformed("a chunk is longer than it says"));
            }
        },
    }
    if framing == Framing::Chunked {
        to.write_all(b"0\r\n\r\n").await?;
    }
    to.flush().await?;
    Ok(passed)
}

async fn exactly<R, W>(
    from: &mut Buffered<R>,
    to: &mut W,
    mut left: u64,
    framing: Framing,
) -> Result<(), BodyError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
        let bytes = from.next(most).await?;
        if bytes.is_empty() {
            return Err(BodyError::Malformed("it is shorter than it says"));
        }
        left -= bytes.len() as u64;
        write(to, bytes, framing).await?;
    }
    Ok(())
}

async fn write<W: AsyncWrite + Unpin>(
    to: &mut W,
    bytes: &[u8],
    framing: Framing,
) -> io::Result<()> {
    if framing == Framing::Chunked {
        to.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())
            .await?;
        to.write_all(bytes).await?;
        return to.write_all(b"\r\n").await;
    }
    to.write_all(bytes).await
}

fn chunk_size(line: &[u8]) -> Result<u64, BodyError> {
    let end = line
        .iter()
        .position(|byte| *byte == b';')
        .unwrap_or(line.len());
    let digits = &line[..end];
    let hex = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let plain = line[end..].iter().all(|byte| (0x20..0x7f).contains(byte));
    let size = std::str::from_utf8(digits).ok().filter(|_| hex && plain);
    size.and_then(|size| u64::from_str_radix(size, 16).ok())
        .ok_or(BodyError::Malformed("the size of a chunk is no number"))
}

/// Fields behind the last chunk are read and go nowhere.
async fn trailers<R: AsyncRead + Unpin>(from: &mut Buffered<R>) -> Result<(), BodyError> {
    let mut left = MAX_TRAILERS;
    loop {
        let line = from.line(left.min(4096)).await?;
        if line.is_empty() {
            return Ok(());
        }
        left = left
            .checked_sub(line.len() + 2)
            .ok_or(BodyError::Malformed("it has too many trailers"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(
        body: &[u8],
        length: Length,
        framing: Framing,
        most: u64,
    ) -> Result<Vec<u8>, String> {
        let mut from = Buffered::new(body, Vec::new(), Duration::from_secs(5));
        let mut to = Vec::new();
        let passed = pass(&mut from, &mut to, length, framing, most).await;
        passed.map(|_| to).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_body_is_passed_on_to_its_end_and_not_beyond() {
        let whole = passed(b"abcGET / HTTP/1.1", Length::Bytes(3), Framing::Plain, 10).await;
        assert_eq!(whole.unwrap(), b"abc");
        let chunks = b"3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1";
        let whole = passed(chunks, Length::Chunked, Framing::Chunked, 100).await;
        assert_eq!(whole.unwrap(), b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        let whole = passed(chunks, Length::Chunked, Framing::Plain, 100).await;
        assert_eq!(whole.unwrap(), b"abc0123456789");
    }

    #[tokio::test]
    async fn what_is_malformed_or_too_long_is_not() {
        for (body, length, most) in [
            (&b"ab"[..], Length::Bytes(3), 10),
            (b"abc", Length::Bytes(30), 10),
            (b"abcdefghijk", Length::UntilClose, 10),
            (b"b\r\nabcdefghijk\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"3\nabc\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"3\r\nabcd\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"+3\r\nabc\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"0x3\r\nabc\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"3 \r\nabc\r\n0\r\n\r\n", Length::Chunked, 10),
            (b"ffffffffffffffff\r\nabc", Length::Chunked, 10),
            (b"3\r\nabc\r\n", Length::Chunked, 10),
            (b"3\r\nabc\r\n0\r\n", Length::Chunked, 10),
        ] {
            let done = passed(body, length, Framing::Plain, most).await;
            assert!(done.is_err(), "{:?}", String::from_utf8_lossy(body));
        }
    }
}
