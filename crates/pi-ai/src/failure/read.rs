//! Reads the text of a failure: status, JSON and page.

use serde_json::Value;

/// The longest sentence that is quoted, in characters.
const LONGEST: usize = 600;

/// The parts of a failure's text.
pub(super) struct Reading<'t> {
    pub(super) text: &'t str,
    pub(super) status: Option<u16>,
    json: Option<Value>,
    /// The title of a page, empty if it has none.
    pub(super) page: Option<String>,
    /// The text before JSON or page, without the status.
    before: &'t str,
    /// The pause that the server requested, in seconds.
    pub(super) pause: Option<u64>,
}

impl<'t> Reading<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let text = text.trim();
        let json = text.find('{').and_then(|at| {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            values.next()?.ok().map(|value| (at, value))
        });
        let page = html_start(text);
        let end = match (&json, page) {
            (Some((at, _)), _) => *at,
            (None, Some(at)) => at,
            (None, None) => text.len(),
        };
        let json = json.map(|(_, value)| value);
        let (pause, before) = pause(&text[..end]);
        let (status, before) = status(before);
        let status = status.or_else(|| {
            let code = ["/error/code", "/code", "/status", "/error/status"];
            let found = code.iter().find_map(|path| json.as_ref()?.pointer(path)?.as_u64());
            found.and_then(|code| u16::try_from(code).ok()).filter(|code| is_status(*code))
        });
        Self { text, status, page: page.map(|at| title(&text[at..])), json, before, pause }
    }

    /// Returns the sentence of the provider in its JSON.
    pub(super) fn sentence(&self) -> Option<String> {
        let json = self.json.as_ref()?;
        let paths = [
            "/error/message",
            "/message",
            "/error",
            "/detail",
            "/Message",
            "/error/detail",
            // Lists of invalid parameters.
            "/message/detail/0/msg",
            "/detail/0/msg",
        ];
        let found = paths.iter().find_map(|path| json.pointer(path)?.as_str());
        let found = found.filter(|text| !text.trim().is_empty())?;
        // A router quotes the provider behind it.
        let paths = ["/error/metadata/raw", "/metadata/raw"];
        let raw = paths.iter().find_map(|path| json.pointer(path)?.as_str());
        Some(match raw.filter(|raw| !raw.is_empty()) {
            Some(raw) => format!("{found}: {}", nested(raw)),
            None => found.to_owned(),
        })
    }

    /// Returns the sentence of the provider, or the part of the text that stands for it.
    pub(super) fn detail(&self) -> String {
        let detail = match (self.sentence(), &self.page) {
            (Some(sentence), _) => sentence,
            (None, Some(title)) if title.is_empty() => "an HTML page".to_owned(),
            (None, Some(title)) => format!("an HTML page, \"{title}\""),
            (None, None) if self.json.is_some() || self.before.is_empty() => self.text.to_owned(),
            (None, None) => self.before.to_owned(),
        };
        // Some providers answer with a paragraph and a list of links; line breaks would tear the
        // message apart.
        let detail = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        crate::wire::shorten(&detail, LONGEST)
    }
}

/// Returns the sentence of an error inside an error.
fn nested(raw: &str) -> String {
    match serde_json::from_str::<Value>(raw) {
        Ok(json) => {
            let paths = ["/error/message", "/message"];
            let found = paths.iter().find_map(|path| json.pointer(path)?.as_str());
            found.unwrap_or(raw).to_owned()
        }
        Err(_) => raw.to_owned(),
    }
}

fn is_status(code: u16) -> bool {
    (300..600).contains(&code)
}

/// Splits off the sentence of a pause that was too long: `Server requested 90s retry delay (…). `.
fn pause(before: &str) -> (Option<u64>, &str) {
    let parts = || {
        let (pause, rest) = before.strip_prefix("Server requested ")?.split_once("). ")?;
        let (seconds, _) = pause.split_once("s retry delay")?;
        Some((seconds.parse().ok()?, rest))
    };
    parts().map_or((None, before), |(seconds, rest)| (Some(seconds), rest))
}

/// Splits the status from the text before a body: `429: …`, `429 …`, `X API error (429): …`.
fn status(before: &str) -> (Option<u16>, &str) {
    let start = before.trim_start();
    if let Some((code, rest)) = number(start) {
        return (Some(code), rest);
    }
    if let Some((_, rest)) = start.split_once(" error (")
        && let Some((code, rest)) = number(rest)
        && let Some(rest) = rest.strip_prefix(')')
    {
        let rest = rest.trim_start_matches([':', ' ']);
        // Without a JSON body, the status is repeated.
        return (
            Some(code),
            number(rest).filter(|(again, _)| *again == code).map_or(rest, |(_, rest)| rest),
        );
    }
    (None, start.trim_end_matches([':', ' ']))
}

/// Splits a status code from the text after it.
fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let code: u16 = digits.parse().ok()?;
    is_status(code).then(|| (code, rest.trim_matches([':', ' '])))
}

fn html_start(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    lower.find("<!doctype html").or_else(|| lower.find("<html"))
}

/// Returns the title of a page; empty if there is none.
fn title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|at| {
        let from = at + "<title>".len();
        let length = lower.get(from..)?.find("</title>")?;
        page.get(from..from + length)
    });
    title.unwrap_or_default().trim().to_owned()
}
