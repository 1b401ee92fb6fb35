//! Messages that are too long to be read, or that are no JSON: their ids, found at the ends of the
//! line, so that no side waits for an answer that never comes. No I/O.

use crate::{Id, TooLong};

/// A message of which only the ends are known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Request(Id),
    Response(Id),
}

/// Finds the id of a message of which only the ends are known, so that no side waits for nothing.
/// Programs write the id first, after the method, or last.
pub(crate) fn identify(line: &TooLong) -> Option<Cut> {
    let text = |bytes: &[u8]| -> String {
        let text = String::from_utf8_lossy(bytes);
        text.chars().filter(|one| !one.is_whitespace()).collect()
    };
    let is_end = |text: &str| text.starts_with("\"result\"") || text.starts_with("\"error\"");
    let (head, tail) = (text(&line.head), text(&line.tail));
    let head = head.strip_prefix('{')?;
    let head = head.strip_prefix("\"jsonrpc\":\"2.0\",").unwrap_or(head);
    let id = |text: &str| Id::from_value(&serde_json::from_str(text).ok()?);
    let last = || {
        let tail = tail.strip_suffix('}')?;
        let tail = tail.strip_suffix(",\"jsonrpc\":\"2.0\"").unwrap_or(tail);
        id(tail.rsplit_once(",\"id\":")?.1)
    };
    if let Some(rest) = head.strip_prefix("\"id\":") {
        let (first, rest) = rest.split_once(',')?;
        let is = |name: &str| rest.starts_with(name);
        return match is_end(rest) {
            true => id(first).map(Cut::Response),
            false if is("\"method\"") || is("\"params\"") => id(first).map(Cut::Request),
            false => None,
        };
    }
    if let Some(rest) = head.strip_prefix("\"method\":") {
        let (_, rest) = rest.split_once(',')?;
        let second = rest.strip_prefix("\"id\":").and_then(|rest| rest.split_once(','));
        return second.map_or_else(last, |(second, _)| id(second)).map(Cut::Request);
    }
    is_end(head).then(last).flatten().map(Cut::Response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_long_message_is_found_at_its_ends() {
        let response = |id| Some(Cut::Response(Id::Number(id)));
        let request = |id| Some(Cut::Request(Id::Number(id)));
        let cases = [
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":", "}", response(7)),
            ("{ \"id\": 7, \"result\": {", "}, \"jsonrpc\": \"2.0\" }", response(7)),
            ("{\"result\":{\"id\":3", "},\"jsonrpc\":\"2.0\",\"id\":7}", response(7)),
            ("{\"result\":{\"id\":3", "},\"id\":7,\"jsonrpc\":\"2.0\"}", response(7)),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":", "}", request(7)),
            ("{\"id\":7,\"params\":{", "},\"method\":\"m\"}", request(7)),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":7,\"params\":", "}", request(7)),
            ("{\"method\":\"m\",\"params\":{\"id\":3", "},\"id\":7}", request(7)),
            // A notification whose parameters have an id.
            ("{\"method\":\"m\",\"params\":{", ",\"id\":7}}", None),
            ("{\"id\":7,\"error\":", "}", response(7)),
            ("{\"id\":7,\"other\":", "}", None),
            ("nonsense", ",\"id\":7}", None),
        ];
        for (head, tail, expected) in cases {
            let (head, tail) = (head.as_bytes().to_vec(), tail.as_bytes().to_vec());
            let line = TooLong { length: 0, head, tail };
            assert_eq!(identify(&line), expected, "{line:?}");
        }
    }
}
