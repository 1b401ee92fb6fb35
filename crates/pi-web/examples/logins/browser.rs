//! A browser without eyes: follows redirects, keeps cookies and submits the forms of the server.

use std::collections::BTreeMap;

use pi_web::{WebBody, WebClient, WebRequest};
use url::Url;

/// Steps after which the server is considered lost.
const MAX_STEPS: usize = 20;

/// A user in front of a browser.
pub(crate) struct Browser {
    web: WebClient,
    cookies: BTreeMap<String, String>,
    /// Fields that the user fills in or overrides.
    answers: Vec<(&'static str, &'static str)>,
}

impl Browser {
    pub(crate) fn new(web: WebClient) -> Self {
        let answers = vec![("login", "user-1"), ("password", "x")];
        Self { web, cookies: BTreeMap::new(), answers }
    }

    /// Opens a page and goes on until there is no form and no redirect. Returns the last address,
    /// and the text of the page there.
    pub(crate) async fn open(&mut self, url: &str) -> Result<(Url, String), String> {
        self.walk(url, None).await
    }

    /// Like [`Browser::open`], but stops at the redirect to `end` and does not open it.
    pub(crate) async fn open_until(&mut self, url: &str, end: &str) -> Result<Url, String> {
        self.walk(url, Some(end)).await.map(|(url, _)| url)
    }

    async fn walk(&mut self, url: &str, end: Option<&str>) -> Result<(Url, String), String> {
        let mut url = Url::parse(url).map_err(|error| error.to_string())?;
        let mut form = None;
        for _ in 0..MAX_STEPS {
            if end.is_some_and(|end| url.as_str().starts_with(end)) {
                return Ok((url, String::new()));
            }
            let (status, location, page) = self.request(&url, form.take()).await?;
            if let Some(location) = location {
                url = url.join(&location).map_err(|error| error.to_string())?;
            } else if let Some((action, fields)) = self.fill(&page) {
                url = url.join(&action).map_err(|error| error.to_string())?;
                form = Some(fields);
            } else if status < 400 {
                return Ok((url, page));
            } else {
                return Err(format!("{url}: HTTP {status}: {page}"));
            }
        }
        Err(format!("no end of pages at {url}"))
    }

    async fn request(
        &mut self,
        url: &Url,
        form: Option<String>,
    ) -> Result<(u16, Option<String>, String), String> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut headers = vec![
            ("accept".to_owned(), "text/html".to_owned()),
            ("cookie".to_owned(), cookies.join("; ")),
        ];
        let (method, body) = match form {
            Some(form) => {
                let kind = "application/x-www-form-urlencoded".to_owned();
                headers.push(("content-type".to_owned(), kind));
                ("POST", WebBody::Bytes(form.into_bytes()))
            }
            None => ("GET", WebBody::Empty),
        };
        let request = WebRequest { method: method.to_owned(), url: url.to_string(), headers, body };
        let mut response = self.web.send(request).await.map_err(|error| error.to_string())?;
        let mut location = None;
        for (name, value) in &response.headers {
            if name == "location" {
                location = Some(value.clone());
            }
            if name == "set-cookie" {
                let pair = value.split(';').next().unwrap_or_default();
                if let Some((name, value)) = pair.split_once('=') {
                    self.cookies.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        let mut page = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            page.extend_from_slice(&chunk);
        }
        Ok((response.status, location, String::from_utf8_lossy(&page).into_owned()))
    }

    /// Fills in the first form of a page.
    fn fill(&self, page: &str) -> Option<(String, String)> {
        let start = page.find("<form")?;
        let form = page.get(start..)?;
        let form = form.split("</form>").next()?;
        let action = attribute(form, "action")?;
        let mut url = Url::parse("http://localhost/").ok()?;
        for input in form.split("<input").skip(1) {
            let input = input.split('>').next()?;
            let Some(name) = attribute(input, "name") else { continue };
            let own = self.answers.iter().find(|(field, _)| *field == name);
            let value = match own {
                Some((_, value)) => (*value).to_owned(),
                None => attribute(input, "value").unwrap_or_default(),
            };
            url.query_pairs_mut().append_pair(&name, &value);
        }
        Some((action, url.query().unwrap_or_default().to_owned()))
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}
