//! Server-sent events: the data of each event, its id and the time to wait before
//! asking again. Names of events are passed over; nothing we speak with uses them.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    pub data: Vec<u8>,
}

/// Feed it what arrives. An event over the limit is an error, and the end.
#[derive(Debug)]
pub struct SseParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    limit: usize,
    /// The newest id, by which a stream can be taken up again.
    pub last_id: Option<String>,
    pub retry_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLarge;

impl SseParser {
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            limit,
            last_id: None,
            retry_ms: None,
        }
    }

    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut event: impl FnMut(SseEvent),
    ) -> Result<(), EventTooLarge> {
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.line);
                    if let Some(complete) = self.handle_line(&line) {
                        event(complete);
                    }
                }
                _ if self.line.len() + self.data.len() >= self.limit => return Err(EventTooLarge),
                byte => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn handle_line(&mut self, line: &[u8]) -> Option<SseEvent> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(SseEvent { data });
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" => {
                let id = String::from_utf8_lossy(value).into_owned();
                let usable = !id.is_empty() && id.len() < 1024 && !id.contains(char::is_control);
                self.last_id = usable.then_some(id).or(self.last_id.take());
            }
            b"retry" => {
                let text = std::str::from_utf8(value).ok();
                self.retry_ms = text.and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> (Vec<String>, SseParser) {
        let mut parser = SseParser::with_limit(100);
        let mut events = Vec::new();
        for chunk in chunks {
            let event = |event: SseEvent| events.push(String::from_utf8(event.data).unwrap());
            parser.feed(chunk, event).unwrap();
        }
        (events, parser)
    }

    #[test]
    fn events_are_found_however_the_stream_is_cut_and_ended() {
        let stream = b": alive\r\n\r\nid: 7\nretry: 500\n\ndata: {\"a\":\ndata: 1}\nevent: message\n\ndata:x\r\rdata: \xc3\xa4\n\ndata: open";
        let expected = ["{\"a\":\n1}", "x", "ä"];
        let (whole, parser) = read(&[stream]);
        assert_eq!(whole, expected);
        assert_eq!(
            (parser.last_id.as_deref(), parser.retry_ms),
            (Some("7"), Some(500))
        );
        let single: Vec<_> = stream.chunks(1).collect();
        assert_eq!(read(&single).0, expected);
    }

    #[test]
    fn an_event_without_end_is_refused_at_the_limit() {
        let mut parser = SseParser::with_limit(10);
        assert_eq!(parser.feed(b"data: 123456789", |_| ()), Err(EventTooLarge));
    }
}
