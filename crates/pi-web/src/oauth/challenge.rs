//! Challenges of protected resources: the header `WWW-Authenticate` (RFC 6750, RFC 9728).

/// The bearer challenge of a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Challenge {
    /// The address of the metadata of the resource.
    pub resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub scopes: Vec<String>,
    /// The error code, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
    /// The explanation.
    pub description: Option<String>,
}

impl Challenge {
    /// Reads the bearer challenge in the value of a `WWW-Authenticate` header, which may contain
    /// challenges of several schemes.
    pub fn read(header: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut in_bearer = false;
        for (scheme, parameter) in (Parts { rest: header }) {
            if let Some(scheme) = scheme {
                if found.is_some() {
                    break;
                }
                in_bearer = scheme.eq_ignore_ascii_case("bearer");
                if in_bearer {
                    found = Some(Self::default());
                }
            }
            let (true, Some(challenge), Some((name, value))) = (in_bearer, &mut found, parameter)
            else {
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => {
                    challenge.scopes = value.split_whitespace().map(str::to_owned).collect();
                }
                "error" => challenge.error = Some(value),
                "error_description" => challenge.description = Some(value),
                _ => {}
            }
        }
        found
    }

    /// Returns true if the token is valid but lacks scopes: a new login with the scopes of the
    /// challenge helps.
    pub fn needs_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The comma-separated parts of a header: a new scheme, a parameter, or both.
struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = (Option<&'a str>, Option<(&'a str, String)>);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
        if self.rest.is_empty() {
            return None;
        }
        let first = self.word();
        let spaces = self.rest.trim_start_matches([' ', '\t']);
        if let Some(value) = spaces.strip_prefix('=') {
            self.rest = value;
            return Some((None, Some((first, self.value()))));
        }
        // A scheme: its first parameter may follow.
        self.rest = spaces;
        let before = self.rest;
        let name = self.word();
        match self.rest.trim_start_matches([' ', '\t']).strip_prefix('=') {
            Some(value) if !name.is_empty() && !value.starts_with('=') => {
                self.rest = value;
                Some((Some(first), Some((name, self.value()))))
            }
            _ => {
                self.rest = before;
                if first.is_empty() {
                    // Neither a word nor a value: skip the part.
                    self.rest = self.rest.split_once(',').map_or("", |(_, rest)| rest);
                }
                Some((Some(first), None))
            }
        }
    }
}

impl<'a> Parts<'a> {
    fn word(&mut self) -> &'a str {
        let end = self.rest.find([' ', '\t', ',', '=', '"']);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn value(&mut self) -> String {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', ' ', '\t']).unwrap_or(self.rest.len());
            let (value, rest) = self.rest.split_at(end);
            self.rest = rest;
            return value.to_owned();
        };
        let mut value = String::new();
        let mut chars = quoted.chars();
        while let Some(one) = chars.next() {
            match one {
                '"' => break,
                '\\' => value.extend(chars.next()),
                other => value.push(other),
            }
        }
        self.rest = chars.as_str();
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bearer_challenges_are_read() {
        let full = r#"Bearer realm="a, b", error="insufficient_scope", error_description="say \"please\"", scope="files:read files:write", resource_metadata="https://a.example/.well-known/oauth-protected-resource""#;
        let challenge = Challenge::read(full).unwrap();
        assert!(challenge.needs_scope());
        assert_eq!(challenge.scopes, ["files:read", "files:write"]);
        assert_eq!(challenge.description.as_deref(), Some("say \"please\""));
        assert_eq!(
            challenge.resource_metadata.as_deref(),
            Some("https://a.example/.well-known/oauth-protected-resource")
        );
        for (header, error) in [
            ("Bearer", None),
            ("bearer error=invalid_token", Some("invalid_token")),
            (r#"Basic realm="x", Bearer error="invalid_token""#, Some("invalid_token")),
            (r#"Negotiate abc==, Bearer error = "e" , Digest error="other""#, Some("e")),
            (r#"Bearer error="open"#, Some("open")),
        ] {
            let challenge = Challenge::read(header);
            assert_eq!(challenge.map(|one| one.error), Some(error.map(str::to_owned)), "{header}");
        }
    }

    #[test]
    fn other_headers_have_no_bearer_challenge() {
        for header in ["", "Basic realm=\"Bearer\"", ",,,", "=", "\"Bearer\""] {
            assert_eq!(Challenge::read(header), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_a_panic(header in ".*") {
            let _ = Challenge::read(&header);
        }

        #[test]
        fn any_header_of_such_characters_ends(header in "[a \t,=\"\\\\]{0,60}") {
            let _ = Challenge::read(&header);
        }
    }
}
