//! The table of a server's routes: methods and paths, with values of the server's own type.
//!
//! Pure: finding a route calls nothing. A server matches on the value that it finds.

use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};

use super::Refusal;

/// A table of routes.
#[derive(Debug, Clone)]
pub struct Routes<T>(Vec<(Method, &'static str, T)>);

/// The values of the variables of a path, in its order. They are as the client sent them, escapes
/// included.
pub type Params<'p> = Vec<&'p str>;

impl<T> Routes<T> {
    /// Creates a table. A segment `{}` or `{name}` of a path is a variable, and a last segment `{*}`
    /// is the rest of the path.
    pub fn new(routes: impl IntoIterator<Item = (Method, &'static str, T)>) -> Self {
        Self(routes.into_iter().collect())
    }

    /// Finds the route of a request; the first that matches counts. Refuses a path without a route
    /// with 404, and one without a route for the method with 405 and the methods that it has.
    pub fn find<'p>(&self, method: &Method, path: &'p str) -> Result<(&T, Params<'p>), Refusal> {
        let mut allowed: Vec<&str> = Vec::new();
        for (own, pattern, route) in &self.0 {
            let Some(params) = matched(pattern, path) else { continue };
            if own == method {
                return Ok((route, params));
            }
            if !allowed.contains(&own.as_str()) {
                allowed.push(own.as_str());
            }
        }
        let Ok(value) = HeaderValue::from_str(&allowed.join(", ")) else {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "Not found"));
        };
        if allowed.is_empty() {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "Not found"));
        }
        let methods = match allowed.split_last() {
            Some((last, [_, ..])) => {
                format!("{} and {last}", allowed[..allowed.len() - 1].join(", "))
            }
            _ => allowed.join(""),
        };
        let verb = if allowed.len() == 1 { "is" } else { "are" };
        let message = format!("Only {methods} {verb} allowed");
        Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message).with_header(ALLOW, value))
    }
}

/// Returns the variables of a path that matches a pattern.
fn matched<'p>(pattern: &str, path: &'p str) -> Option<Params<'p>> {
    let mut params = Vec::new();
    let (mut pattern, mut path) = (pattern, path);
    loop {
        if pattern == "/{*}" {
            params.push(path.strip_prefix('/')?);
            return Some(params);
        }
        let (segment, rest) = split(pattern)?;
        let (given, given_rest) = split(path)?;
        match segment {
            _ if is_variable(segment) && !given.is_empty() => params.push(given),
            _ if segment == given => {}
            _ => return None,
        }
        if rest.is_empty() || given_rest.is_empty() {
            return (rest == given_rest).then_some(params);
        }
        (pattern, path) = (rest, given_rest);
    }
}

/// Returns true if a segment of a pattern is a variable.
fn is_variable(segment: &str) -> bool {
    segment.starts_with('{') && segment.ends_with('}')
}

/// Returns the first segment of a path and the rest, which is empty or begins with a slash.
fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('/')?;
    Some(path.split_at(path.find('/').unwrap_or(path.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes<u8> {
        Routes::new([
            (Method::GET, "/", 1),
            (Method::GET, "/sessions/{}/events", 2),
            (Method::POST, "/sessions/{}/events", 3),
            (Method::DELETE, "/sessions/{id}/events", 4),
            (Method::GET, "/files/{*}", 5),
            (Method::POST, "/login", 6),
        ])
    }

    #[test]
    fn paths_and_methods_are_found() {
        let routes = routes();
        let cases: &[(Method, &str, u8, &[&str])] = &[
            (Method::GET, "/", 1, &[]),
            (Method::GET, "/sessions/a%2Fb/events", 2, &["a%2Fb"]),
            (Method::POST, "/sessions/a/events", 3, &["a"]),
            (Method::DELETE, "/sessions/a/events", 4, &["a"]),
            (Method::GET, "/files/a/b.css", 5, &["a/b.css"]),
            (Method::GET, "/files/", 5, &[""]),
        ];
        for (method, path, expected, params) in cases {
            let (route, found) = routes.find(method, path).unwrap();
            assert_eq!((*route, found.as_slice()), (*expected, *params), "{method} {path}");
        }
    }

    #[test]
    fn others_are_refused() {
        let routes = routes();
        for path in
            ["", "x", "//", "/sessions", "/sessions//events", "/sessions/a/events/", "/files"]
        {
            let refusal = routes.find(&Method::GET, path).unwrap_err();
            assert_eq!(refusal.status, StatusCode::NOT_FOUND, "{path}");
        }
        let refusal = routes.find(&Method::PUT, "/sessions/a/events").unwrap_err();
        assert_eq!(refusal.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(refusal.message, "Only GET, POST and DELETE are allowed");
        assert_eq!(refusal.header.unwrap().1, "GET, POST, DELETE");
        let refusal = routes.find(&Method::GET, "/login").unwrap_err();
        assert_eq!(refusal.message, "Only POST is allowed");
    }
}
