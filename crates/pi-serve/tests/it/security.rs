//! The entrance over real sockets: other names, other sites, wrong tokens, paths and bounds.

use pi_serve::Refused;
use pi_serve::entrance::Right;
use serde_json::json;

use crate::home::Home;
use crate::raw::{Answer, Raw, bearer, exchange, log_in, operations, session};

const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn advice(refused: Refused<'_>) -> Option<String> {
    match refused {
        Refused::Host(host) => Some(format!("permit it with --allow-host {host}")),
        Refused::Origin(_) => Some("set --public-url".to_owned()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_other_hosts_are_refused_with_the_flag() {
    let home = Home::new();
    let raw = Raw::with(&home, |options| {
        options.advice = advice;
        options.hosts = vec!["pi.example".to_owned()];
    })
    .await;
    let token = bearer(&raw.token("owner", Right::Admin));
    let port = raw.address.port();
    let names = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1.evil.example".to_owned(),
        "localhost.evil.example".to_owned(),
        "10.0.0.1".to_owned(),
    ];
    for host in &names {
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/healthz"),
            ("GET", "/api/v1/me"),
            ("POST", "/api/v1/login"),
            ("GET", "/page/main.js"),
            ("GET", "/api/v1/openapi.json"),
        ] {
            let headers = [
                ("Host", host.as_str()),
                ("Authorization", token.as_str()),
                ("Content-Type", "application/json"),
            ];
            let answer = raw.send(method, path, &headers, "{}").await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (421, "unknown_host"),
                "{host} {path}"
            );
            let name = host.split(':').next().unwrap();
            let hint = answer.json()["error"]["hint"].as_str().unwrap().to_owned();
            assert_eq!(hint, format!("permit it with --allow-host {name}"));
        }
        let mut headers = vec![("Host", host.as_str()), ("Authorization", token.as_str())];
        headers.extend(UPGRADE);
        assert_eq!(raw.send("GET", "/api/v1/rpc", &headers, "").await.status, 421, "{host}");
    }
    let twice = format!(
        "GET /healthz HTTP/1.1\r\nHost: {0}\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        raw.address
    );
    assert!(matches!(exchange(raw.address, &twice).await.status, 400 | 421));
    let none = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert!(matches!(exchange(raw.address, none).await.status, 400 | 421));
    for host in ["localhost", "pi.example", "PI.example:443", "[::1]:9"] {
        assert_eq!(raw.send("GET", "/healthz", &[("Host", host)], "").await.status, 200, "{host}");
    }
    // What an attacker names is not repeated as a command to copy, unless it is a name.
    let answer = raw.send("GET", "/", &[("Host", "a;rm -rf ~")], "").await;
    assert!(!answer.body.contains("rm -rf"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_are_refused() {
    let home = Home::new();
    let raw = Raw::with(&home, |options| options.advice = advice).await;
    let token = bearer(&raw.token("owner", Right::Admin));
    let own = format!("http://{}", raw.address);
    let other_port = format!("http://127.0.0.1:{}", raw.address.port().wrapping_add(1));
    let localhost = format!("http://localhost:{}", raw.address.port());
    for origin in
        ["https://evil.example", "null", "file://", "", &other_port, &localhost, "http://127.0.0.1"]
    {
        let base = [("Origin", origin), ("Authorization", token.as_str())];
        for (method, path) in [
            ("GET", "/api/v1/sessions"),
            ("GET", "/"),
            ("POST", "/api/v1/login"),
            ("OPTIONS", "/api/v1/sessions"),
            ("DELETE", "/api/v1/tokens/x"),
        ] {
            let mut headers = base.to_vec();
            headers.push(("Content-Type", "application/json"));
            headers.push(("Access-Control-Request-Method", "POST"));
            let answer = raw.send(method, path, &headers, "{}").await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (403, "foreign_origin"),
                "{origin} {method} {path}"
            );
            assert!(!answer.head.to_lowercase().contains("access-control"), "{answer:?}");
        }
        let mut headers = base.to_vec();
        headers.extend(UPGRADE);
        let answer = raw.send("GET", "/api/v1/rpc", &headers, "").await;
        assert_eq!(answer.status, 403, "{origin}");
    }
    // Two origins, one of them right.
    let two = [("Origin", own.as_str()), ("Origin", "null"), ("Authorization", token.as_str())];
    assert_eq!(raw.send("GET", "/api/v1/me", &two, "").await.status, 403);
    let right = [("Origin", own.as_str()), ("Authorization", token.as_str())];
    let answer = raw.send("GET", "/api/v1/me", &right, "").await;
    assert_eq!(answer.status, 200);
    assert!(!answer.head.to_lowercase().contains("access-control"), "{answer:?}");
    let preflight = [("Origin", own.as_str()), ("Access-Control-Request-Method", "DELETE")];
    assert_eq!(raw.send("OPTIONS", "/api/v1/tokens/x", &preflight, "").await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_browsers_say_about_the_sender_counts() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = bearer(&raw.token("owner", Right::Admin));
    for site in ["cross-site", "same-site", "something"] {
        for path in ["/api/v1/me", "/healthz", "/"] {
            let headers = [("Sec-Fetch-Site", site), ("Authorization", token.as_str())];
            let answer = raw.send("GET", path, &headers, "").await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (403, "cross_site"),
                "{site} {path}"
            );
        }
    }
    // A link of another site leads to the page, which has no data; into a frame it does not.
    let link = |dest| {
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", dest)]
    };
    assert_eq!(raw.send("GET", "/", &link("document"), "").await.status, 200);
    assert_eq!(raw.send("GET", "/", &link("iframe"), "").await.status, 403);
    assert_eq!(raw.send("GET", "/healthz", &link("document"), "").await.status, 403);
    for site in ["same-origin", "none"] {
        let headers = [("Sec-Fetch-Site", site), ("Authorization", token.as_str())];
        assert_eq!(raw.send("GET", "/api/v1/me", &headers, "").await.status, 200, "{site}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simple_requests_and_forms_change_nothing() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let (cookie, csrf) = log_in(&raw, &token).await;
    let types = [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("text/plain; application/json"),
        Some("application/jsonp"),
    ];
    for content_type in types {
        for path in ["/api/v1/sessions", "/api/v1/tokens", "/api/v1/login", "/api/v1/logout"] {
            for credentials in [("Authorization", bearer(&token)), ("Cookie", cookie.clone())] {
                let mut headers =
                    vec![(credentials.0, credentials.1.as_str()), ("X-Pi-CSRF", csrf.as_str())];
                headers.extend(content_type.map(|value| ("Content-Type", value)));
                let answer =
                    raw.send("POST", path, &headers, r#"{"name":"x","right":"admin"}"#).await;
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (415, "content_type"),
                    "{content_type:?} {path}"
                );
            }
        }
    }
    assert!(raw.server.state().host.open_sessions().is_empty());
    assert_eq!(raw.server.state().tokens.list().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_needs_the_csrf_value_of_its_login() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let body = json!({ "token": token }).to_string();
    let answer =
        raw.send("POST", "/api/v1/login", &[("Content-Type", "application/json")], &body).await;
    let set = answer.header("set-cookie").unwrap();
    assert!(
        set.starts_with("pi_session=")
            && set.contains("; Path=/; HttpOnly; SameSite=Strict; Max-Age="),
        "{set}"
    );
    assert!(!set.contains("Domain") && !set.contains("Secure") && !set.contains(&token), "{set}");
    assert!(!answer.body.contains(&token));
    let (cookie, csrf) = log_in(&raw, &token).await;
    let (_, other_csrf) = log_in(&raw, &token).await;
    let me = raw.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").await.json();
    assert_eq!((me["csrf"].as_str(), me["right"].as_str()), (Some(csrf.as_str()), Some("admin")));
    let add = json!({ "name": "phone", "right": "view" }).to_string();
    let json_type = ("Content-Type", "application/json");
    for wrong in [None, Some(""), Some("x"), Some(other_csrf.as_str()), Some(token.as_str())] {
        let mut headers = vec![("Cookie", cookie.as_str()), json_type];
        headers.extend(wrong.map(|value| ("X-Pi-CSRF", value)));
        let answer = raw.send("POST", "/api/v1/tokens", &headers, &add).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "csrf"), "{wrong:?}");
    }
    let headers = [("Cookie", cookie.as_str()), json_type, ("X-Pi-CSRF", csrf.as_str())];
    assert_eq!(raw.send("POST", "/api/v1/tokens", &headers, &add).await.status, 201);
    // A socket with a cookie is that of a browser, which says its origin.
    let mut upgrade = vec![("Cookie", cookie.as_str())];
    upgrade.extend(UPGRADE);
    assert_eq!(raw.send("GET", "/api/v1/rpc", &upgrade, "").await.status, 403);
    // Of two cookies, one is not ours.
    let twice = format!("{cookie}; {cookie}");
    assert_eq!(raw.send("GET", "/api/v1/me", &[("Cookie", &twice)], "").await.status, 401);
    // A token beside the cookie counts alone.
    let both = [("Cookie", cookie.as_str()), ("Authorization", "Bearer wrong")];
    assert_eq!(raw.send("GET", "/api/v1/me", &both, "").await.status, 401);
    assert_eq!(raw.send("POST", "/api/v1/logout", &headers, "{}").await.status, 204);
    let gone = raw.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").await;
    assert_eq!(gone.status, 401);
    assert!(gone.header("set-cookie").unwrap().contains("Max-Age=0"), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_secure_behind_a_proxy_with_tls() {
    let home = Home::new();
    let url = "https://pi.example/".parse().unwrap();
    let raw = Raw::with(&home, |options| options.public_url = Some(url)).await;
    let token = raw.token("owner", Right::Admin);
    let body = json!({ "token": token }).to_string();
    let proxied =
        |origin| [("Host", "pi.example"), ("Origin", origin), ("Content-Type", "application/json")];
    let answer = raw.send("POST", "/api/v1/login", &proxied("https://pi.example"), &body).await;
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-pi_session=") && set.ends_with("; Secure"), "{set}");
    // The same name without encryption is that of an attacker in the network.
    let answer = raw.send("POST", "/api/v1/login", &proxied("http://pi.example"), &body).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "foreign_origin"));
    assert_eq!(raw.server.state().url("T"), "https://pi.example/#t=T");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_in_a_query_are_refused() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    for query in [
        format!("t={token}"),
        format!("x=1&TOKEN={token}"),
        format!("access_token={token}"),
        format!("%74oken={token}"),
    ] {
        for path in ["/", "/api/v1/me", "/api/v1/rpc"] {
            let answer = raw.get(&format!("{path}?{query}"), &token).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "token_in_query"), "{query}");
            assert!(answer.body.contains("Authorization: Bearer"), "{answer:?}");
        }
    }
    assert!(!raw.audit().contains(&token));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_slowed_down() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let (cookie, _) = log_in(&raw, &token).await;
    let mut refused = 0;
    let mut statuses = Vec::new();
    for attempt in 0..20 {
        let answer = if attempt % 2 == 0 {
            raw.get("/api/v1/me", &format!("guess{attempt}")).await
        } else {
            let body = json!({ "token": format!("guess{attempt}") }).to_string();
            raw.send("POST", "/api/v1/login", &[("Content-Type", "application/json")], &body).await
        };
        statuses.push(answer.status);
        if answer.status == 429 {
            refused += 1;
            let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=30).contains(&seconds), "{answer:?}");
        }
    }
    assert_eq!(statuses.get(..5), Some([401; 5].as_slice()), "{statuses:?}");
    assert!(refused >= 10, "{statuses:?}");
    // While the peer is refused, a right token is not even looked at; a login that exists is.
    assert_eq!(raw.get("/api/v1/me", &token).await.status, 429);
    assert_eq!(raw.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").await.status, 200);
    assert!(!raw.audit().contains("guess1"), "no guess is recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_of_a_request_reaches_a_file() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let id = session(&home, &raw).await;
    let admin = raw.token("owner", Right::Admin);
    std::fs::write(home.agent().join("auth.json"), "{\"SECRET\":1}").unwrap();
    std::fs::write(home.project().join("a.txt"), "text of a").unwrap();
    std::fs::write(home.project().join(".env"), "PASSWORD=SECRET").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(home.agent().join("auth.json"), home.project().join("link"))
        .unwrap();
    let hostile = [
        "..",
        "%2e%2e",
        "..%2f..%2fagent%2fauth.json",
        "%2e%2e%2fauth.json",
        "....//auth.json",
        "%00",
        "auth.json%00",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "..%5cauth.json",
        "C:%5cx",
        "~",
        ".%2e",
        "%252e%252e%252fauth.json",
    ];
    let operations = operations();
    let parameters: Vec<_> = operations.iter().filter(|(_, path, _)| path.contains('{')).collect();
    assert!(parameters.len() >= 10);
    for (method, path, _) in parameters {
        for value in hostile {
            for (first, second) in [(value, "x"), (id.as_str(), value)] {
                let real =
                    path.replace("{id}", first).replace("{hash}", second).replace("{name}", value);
                if real.contains(&id) && !path.contains("{hash}") && !path.contains("{name}") {
                    continue;
                }
                let authorization = bearer(&admin);
                let headers = [
                    ("Authorization", authorization.as_str()),
                    ("Content-Type", "application/json"),
                ];
                let answer = raw.send(method, &real, &headers, "{}").await;
                assert!(matches!(answer.status, 400 | 404 | 405), "{method} {real}: {answer:?}");
                assert!(
                    !answer.body.contains("SECRET") && !answer.body.contains("root:"),
                    "{real}"
                );
            }
        }
    }
    let file = |path: &str| format!("/api/v1/sessions/{id}/file?path={path}");
    let answer = raw.get(&file("a.txt"), &admin).await;
    assert_eq!(answer.json()["text"], "text of a");
    for path in hostile.into_iter().chain([
        "link",
        "",
        "../agent/auth.json",
        "a.txt/../../agent/auth.json",
        "./a.txt/.",
        "nothing",
    ]) {
        let answer = raw.get(&file(path), &admin).await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        assert!(!answer.body.contains("SECRET"), "{path}: {answer:?}");
    }
    for path in [
        "/page/..%2f..%2fsrc",
        "/page/",
        "/page",
        "/page/x",
        "//",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/sessions",
    ] {
        assert_eq!(raw.get(path, &admin).await.status, 404, "{path}");
    }
    // A session starts in the directories of the server only.
    for cwd in ["/", "/etc", "..", "../agent", "~"] {
        let answer = raw.post("/api/v1/sessions", &admin, &json!({ "cwd": cwd })).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "directory"), "{cwd}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_and_bodies_are_bounded() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let long = "x".repeat(200 << 10);
    let answer = raw.send("GET", "/healthz", &[("X-Long", &long)], "").await;
    assert!(matches!(answer.status, 431 | 400 | 0), "{}", answer.status);
    let answer = raw.get(&format!("/healthz?{long}"), &token).await;
    assert!(matches!(answer.status, 414 | 431 | 400 | 0), "{}", answer.status);
    let body = json!({ "name": "x".repeat(2 << 20), "right": "view" });
    let answer = raw.post("/api/v1/tokens", &token, &body).await;
    assert!(matches!(answer.status, 413 | 0), "{}", answer.status);
    // A body that says that it is short, and one that says that it is huge.
    let head = format!(
        "POST /api/v1/tokens HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n",
        raw.address
    );
    let answer =
        exchange(raw.address, &format!("{head}Content-Length: 99999999999\r\n\r\n{{}}")).await;
    assert_eq!(answer.status, 413);
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{\"name\":1}",
        "{\"name\":\"x\",\"right\":\"root\"}",
        "{\"name\":\"x\",\"right\":\"view\",\"more\":1}",
    ] {
        let answer =
            exchange(raw.address, &format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))
                .await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_body"), "{body}");
    }
    for name in ["", "..", "a/b", "a b", "\u{202e}x", "<b>", &"x".repeat(65)] {
        let answer =
            raw.post("/api/v1/tokens", &token, &json!({ "name": name, "right": "view" })).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_name"), "{name}");
    }
    assert_eq!(raw.get("/healthz", &token).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_address_of_a_network_is_served_without_tls() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    for address in ["0.0.0.0:80", "192.168.1.2:80", "[::]:80", "[fe80::1]:80"] {
        let error = raw.server.check(address.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("would not be encrypted"), "{error}");
    }
    for address in ["127.0.0.1:80", "127.0.0.2:80", "[::1]:80"] {
        raw.server.check(address.parse().unwrap()).unwrap();
    }
    let insecure = Raw::with(&home, |options| options.insecure_lan = true).await;
    insecure.server.check("0.0.0.0:80".parse().unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_tells_browsers_to_be_strict() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let check = |answer: &Answer, what: &str| {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{what}");
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{what}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{what}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{what}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{what}: {policy}");
    };
    for path in [
        "/",
        "/page/main.js",
        "/healthz",
        "/nothing",
        "/api/v1/me",
        "/api/v1/sessions",
        "/api/v1/openapi.json",
        "/metrics",
    ] {
        check(&raw.get(path, &token).await, path);
        check(&raw.send("GET", path, &[("Host", "evil.example")], "").await, path);
    }
    let page = raw.get("/", &token).await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let etag = page.header("etag").unwrap();
    assert_eq!(raw.send("GET", "/", &[("If-None-Match", etag)], "").await.status, 304);
    assert_eq!(raw.get("/api/v1/me", &token).await.header("cache-control"), Some("no-store"));
}
