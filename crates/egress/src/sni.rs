//! The name that a TLS connection begins with, read from its first message.

/// Bytes of a first message that are waited for.
pub const MAX_HELLO: usize = 32 * 1024;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hello {
    /// More bytes are needed to tell.
    Incomplete,
    NotTls,
    /// TLS, with the name that is asked for; none where none is said.
    Tls(Option<String>),
    /// It begins as TLS and goes on as nothing.
    Broken,
}

/// Reads the beginning of a connection.
#[must_use]
pub fn hello(bytes: &[u8]) -> Hello {
    match bytes {
        [] | [22] => return Hello::Incomplete,
        [22, 3, ..] => {}
        _ => return Hello::NotTls,
    }
    match message(bytes) {
        Ok(Some(message)) => match name(&message) {
            Some(name) => Hello::Tls(name),
            None => Hello::Broken,
        },
        Ok(None) if bytes.len() < MAX_HELLO => Hello::Incomplete,
        _ => Hello::Broken,
    }
}

/// The first message, put together from its records, once it is whole.
fn message(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, ()> {
    let mut whole = Vec::new();
    loop {
        let Some((head, rest)) = bytes.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [kind, major, _, high, low] = *head;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if kind != 22 || major != 3 || length == 0 || length > 16_640 {
            return Err(());
        }
        let Some(record) = rest.get(..length) else {
            return Ok(None);
        };
        whole.extend_from_slice(record);
        bytes = &rest[length..];
        if let [kind, a, b, c, body @ ..] = whole.as_slice() {
            let wanted = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            if *kind != 1 || wanted > MAX_HELLO {
                return Err(());
            }
            if body.len() >= wanted {
                return Ok(Some(body[..wanted].to_vec()));
            }
        }
    }
}

/// The name of a client's first message; none at all where it is malformed.
fn name(message: &[u8]) -> Option<Option<String>> {
    let mut rest = Reader(message);
    rest.take(2 + 32)?;
    rest.short_list()?;
    rest.list()?;
    rest.short_list()?;
    if rest.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Reader(rest.list()?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.list()?;
        if kind != 0 {
            continue;
        }
        // Two of them, or two names in one, are two ways to read it.
        if found.is_some() {
            return None;
        }
        let mut names = Reader(Reader(content).list()?);
        let kind = names.take(1)?;
        let name = names.list()?;
        if kind != [0] || !names.0.is_empty() {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        found = Some(name.to_ascii_lowercase());
    }
    Some(found)
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn list(&mut self) -> Option<&'b [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }

    fn short_list(&mut self) -> Option<&'b [u8]> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extension(names: &[&str]) -> Vec<u8> {
        let mut list = Vec::new();
        for name in names {
            list.push(0);
            list.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            list.extend(name.bytes());
        }
        let mut content = u16::try_from(list.len()).unwrap().to_be_bytes().to_vec();
        content.extend(list);
        let mut all = vec![0, 0];
        all.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        all.extend(content);
        all
    }

    fn first_message(extensions: &[u8], record: usize) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.push(0);
        body.extend([0, 2, 0x13, 1, 1, 0]);
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let mut message = vec![1, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        let records = message.chunks(record).flat_map(|part| {
            let mut whole = vec![22, 3, 1];
            whole.extend(u16::try_from(part.len()).unwrap().to_be_bytes());
            whole.extend(part);
            whole
        });
        records.collect()
    }

    #[test]
    fn the_name_is_found_in_one_record_or_many_and_only_when_all_is_there() {
        for record in [4096, 10, 1] {
            let bytes = first_message(&extension(&["A.Example"]), record);
            assert_eq!(hello(&bytes), Hello::Tls(Some("a.example".to_owned())));
            for end in 0..bytes.len() {
                assert_eq!(hello(&bytes[..end]), Hello::Incomplete, "{record} {end}");
            }
        }
        assert_eq!(hello(&first_message(&[], 4096)), Hello::Tls(None));
        assert_eq!(hello(b"GET / HTTP/1.1\r\n"), Hello::NotTls);
        assert_eq!(hello(b"SSH-2.0-x\r\n"), Hello::NotTls);
    }

    #[test]
    fn two_names_and_broken_messages_are_refused() {
        let two = first_message(&extension(&["a.example", "b.example"]), 4096);
        assert_eq!(hello(&two), Hello::Broken);
        let twice = [extension(&["a.example"]), extension(&["b.example"])].concat();
        assert_eq!(hello(&first_message(&twice, 4096)), Hello::Broken);
        assert_eq!(hello(&[22, 3, 1, 0, 4, 2, 0, 0, 0]), Hello::Broken);
        assert_eq!(hello(&[22, 3, 1, 0, 0]), Hello::Broken);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reading_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = hello(&bytes);
            let _ = hello(&first_message(&bytes, 50));
        }
    }
}
