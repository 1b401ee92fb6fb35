//! The answer of the authorization page: parameters of the redirect, or text that the user pasted.

use url::Url;

use super::text::clean;

/// The parameters with which the authorization page answers.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Redirected {
    pub(super) code: Option<String>,
    pub(super) state: Option<String>,
    /// The issuer of the answer (RFC 9207).
    pub(super) issuer: Option<String>,
    /// A client id that the server has issued.
    pub(super) client_id: Option<String>,
    pub(super) error: Option<String>,
    pub(super) description: Option<String>,
}

impl Redirected {
    /// Reads a query.
    pub(super) fn from_query(query: &str) -> Self {
        let mut answer = Self::default();
        // The query of a URL has the encoding of a form.
        let Ok(mut url) = Url::parse("http://localhost/") else { return answer };
        url.set_query(Some(query));
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            let field = match &*name {
                "code" => &mut answer.code,
                "state" => &mut answer.state,
                "iss" => &mut answer.issuer,
                "client_id" => &mut answer.client_id,
                "error" => &mut answer.error,
                "error_description" => &mut answer.description,
                _ => continue,
            };
            // A parameter must not occur twice; the first one wins.
            if field.is_none() && !value.is_empty() {
                *field = Some(value);
            }
        }
        answer.error = answer.error.map(|text| clean(&text));
        answer.description = answer.description.map(|text| clean(&text));
        answer
    }

    /// Reads what a user pasted: the address of the page, a query, `code#state`, or the code.
    /// Returns `None` if it is none of these.
    pub(super) fn from_pasted(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.contains("://") {
            let url = Url::parse(text).ok()?;
            let query = url.query().or_else(|| url.fragment()).unwrap_or_default();
            return Self::from_query(query).complete();
        }
        let query = text.trim_start_matches('?');
        if query.starts_with("code=") || query.contains("&code=") || query.starts_with("error=") {
            return Self::from_query(query).complete();
        }
        if text.is_empty() || text.contains(char::is_whitespace) {
            return None;
        }
        let (code, state) = match text.split_once('#') {
            Some((code, state)) => (code, Some(state.to_owned())),
            None => (text, None),
        };
        let code = Some(code.to_owned());
        Self { code, state, ..Self::default() }.complete()
    }

    fn complete(self) -> Option<Self> {
        let has_code = self.code.as_ref().is_some_and(|code| !code.is_empty());
        (has_code || self.error.is_some()).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_of_a_pasted_code_is_read() {
        for (text, code, state) in [
            ("http://127.0.0.1:1455/auth/callback?code=c%2F1&state=s", "c/1", Some("s")),
            ("  https://example.com/done?state=s&code=c&iss=x \n", "c", Some("s")),
            ("https://example.com/done#code=c&state=s", "c", Some("s")),
            ("c#s", "c", Some("s")),
            ("code=c&state=s", "c", Some("s")),
            ("?code=c&state=s", "c", Some("s")),
            ("state=s&code=c", "c", Some("s")),
            ("code=c", "c", None),
            ("4/0AbC-d_e==", "4/0AbC-d_e==", None),
        ] {
            let answer = Redirected::from_pasted(text).unwrap();
            assert_eq!(answer.code.as_deref(), Some(code), "{text}");
            assert_eq!(answer.state.as_deref(), state, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_code() {
        for text in ["", "  ", "#state", "two words", "https://example.com/", "code=", "http://"] {
            assert!(Redirected::from_pasted(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_refusal_is_read() {
        let answer = Redirected::from_pasted(
            "http://localhost/cb?error=access_denied&error_description=No%1b%5b2J&state=s",
        );
        let answer = answer.unwrap();
        assert_eq!(answer.error.as_deref(), Some("access_denied"));
        assert_eq!(answer.description.as_deref(), Some("No[2J"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".*") {
            let _ = Redirected::from_pasted(&text);
            let _ = Redirected::from_query(&text);
        }

        #[test]
        fn a_code_survives_the_address(code in "[!-~]{1,60}", state in "[!-~]{1,60}") {
            let mut url = Url::parse("http://127.0.0.1:1/cb").unwrap();
            url.query_pairs_mut().append_pair("code", &code).append_pair("state", &state);
            let answer = Redirected::from_pasted(url.as_str()).unwrap();
            prop_assert_eq!(answer.code, Some(code));
            prop_assert_eq!(answer.state, Some(state));
        }
    }
}
