"""The cases of `compare.py`: configuration, model answers, and the accepted differences.

A case has `servers` (of mcp.json), `steps` (the answers of the model), and optionally `prompts`,
`settings`, `mcp` (other keys of mcp.json), `project` (its mcp.json), `args`, `mode`, `last` (only the
last request is compared, since the earlier ones depend on how fast servers connect).
@NODE@, @MODULES@, @PYTHON@ and @HERE@ become paths of the peers, @PROJECT@ the directory of the project.
"""

EVERYTHING = {"command": "@NODE@", "args": ["@MODULES@/@modelcontextprotocol/server-everything/dist/index.js"]}
FILESYSTEM = {"command": "@NODE@", "args": ["@MODULES@/@modelcontextprotocol/server-filesystem/dist/index.js", "@PROJECT@"]}
PYTHON = {"command": "@PYTHON@", "args": ["@HERE@/server.py"]}
ODD = {"command": "@PYTHON@", "args": ["@HERE@/odd_server.py"]}
BROKEN = {"command": "/nonexistent/server"}
DONE = {"text": "done"}


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def script(code):
    return call("codemode", code=code)


def search(query, **more):
    return call("tool_search", query=query, **more)


def python(exposure, **more):
    return {"py": {**PYTHON, "exposure": exposure, **more}}


def odd(exposure):
    return {"odd": {**ODD, "exposure": exposure}}


# Tools of `odd_server.py`, as models see their names.
ODD_TOOLS = [
    "bare", "titled", "annotated", "padded", "lines", "hidden", "dot_name", "1st", "limits", "references", "map", "closed", "untyped", "items",
]  # fmt: skip
ODD_RESULTS = [
    "items", "structured", "both", "audio", "failure", "failed_image", "refused", "invalid", "unknown", "mixed", "image", "empty_text", "meta", "control", "list", "part", "end", "bare",
]  # fmt: skip
ODD_RESOURCES = ["x://several", "x://empty", "x://blank", "x://coded", "x://xml", "x://yaml", "x://broken", "x://none", ""]

CASES = {
    "direct": {"servers": python("direct"), "steps": [DONE]},
    "codemode": {"servers": python("codemode"), "steps": [DONE]},
    "deferred": {"servers": python("deferred"), "steps": [DONE]},
    "hidden": {"servers": python("hidden"), "steps": [DONE]},
    "everything-direct": {"servers": {"every-thing": {**EVERYTHING, "exposure": "direct"}}, "steps": [DONE]},
    "filesystem-direct": {"servers": {"fs": {**FILESYSTEM, "exposure": "direct"}}, "steps": [DONE]},
    "direct-calls": {
        "servers": python("direct"),
        "steps": [
            call("mcp__py__echo", text="hello"),
            call("mcp__py__add", terms=[1, 2, 3]),
            call("mcp__py__fail"),
            call("mcp__py__fail", reason="a\nb"),
            call("mcp__py__empty_error"),
            call("mcp__py__nothing"),
            call("mcp__py__picture"),
            call("mcp__py__links"),
            call("mcp__py__odd_name__x"),
            call("mcp__py__steps", count=3),
            call("mcp__py__echo"),
            call("mcp__py__echo", text=5),
            call("mcp__py__none"),
            {"calls": [{"name": "mcp__py__echo", "arguments": "{bad"}]},
            DONE,
        ],
    },
    "truncation": {
        "servers": python("direct"),
        "steps": [
            call("mcp__py__big", lines=1000),
            call("mcp__py__big", lines=5000),
            call("mcp__py__wide", characters=20480),
            call("mcp__py__wide", characters=20481),
            call("mcp__py__wide", characters=50000),
            DONE,
        ],
    },
    "everything-calls": {
        "servers": {"every-thing": {**EVERYTHING, "exposure": "direct"}},
        "steps": [
            call("mcp__every_thing__echo", message="hi"),
            call("mcp__every_thing__get_sum", a=1, b=2),
            call("mcp__every_thing__get_tiny_image"),
            call("mcp__every_thing__get_annotated_message", messageType="error", includeImage=True),
            call("mcp__every_thing__get_resource_links", count=2),
            call("mcp__every_thing__get_resource_reference", resourceType="Blob", resourceId=1),
            call("mcp__every_thing__get_structured_content", location="New York"),
            call("mcp__every_thing__get_sum", a="x", b=2),
            DONE,
        ],
    },
    "filesystem-calls": {
        "servers": {"fs": {**FILESYSTEM, "exposure": "direct"}},
        "steps": [
            call("mcp__fs__read_text_file", path="@PROJECT@/hello.txt"),
            call("mcp__fs__list_directory", path="@PROJECT@"),
            call("mcp__fs__read_text_file", path="/etc/hostname"),
            call("mcp__fs__write_file", path="@PROJECT@/new.txt", content="new\n"),
            call("mcp__fs__list_allowed_directories"),
            DONE,
        ],
    },
    "tool-exposure": {
        "servers": {
            "py": {
                **PYTHON,
                "exposure": "hidden",
                "toolExposure": {"e*": "direct", "echo": "codemode", "*i*": "deferred", "add": "direct", "picture": "hidden"},
            }
        },
        "steps": [search("picture links fail nothing"), DONE],
    },
    "alias": {"servers": python("codemode-deferred"), "steps": [DONE]},
    "search": {
        "servers": {**python("deferred"), "every-thing": {**EVERYTHING, "exposure": "deferred"}},
        "steps": [
            search("echo", limit=1),
            search("mcp__py__add"),
            search("returns an image", limit=2),
            call("mcp__py__add", terms=[4, 5]),
            search("picture"),
            DONE,
        ],
    },
    "search-nothing": {
        "servers": python("deferred"),
        "steps": [search("zzzzqqq"), search(""), search("the of a"), search("echo", limit=0), search("echo", limit=1000), DONE],
    },
    "search-noise": {
        "servers": {"every-thing": {**EVERYTHING, "exposure": "deferred"}},
        "steps": [search("echo a message"), DONE],
    },
    "resources": {
        "servers": python("direct"),
        "steps": [
            call("list_mcp_resources"),
            call("list_mcp_resources", server="py"),
            call("list_mcp_resources", server="none"),
            call("list_mcp_resource_templates"),
            call("list_mcp_resource_templates", server="py"),
            call("read_mcp_resource", server="py", uri="memo://note"),
            call("read_mcp_resource", server="py", uri="memo://item/7"),
            call("read_mcp_resource", server="py", uri="memo://bytes"),
            call("read_mcp_resource", server="py", uri="memo://pixel"),
            call("read_mcp_resource", server="py", uri="memo://missing"),
            call("read_mcp_resource", server="none", uri="memo://note"),
            DONE,
        ],
    },
    "resources-everything": {
        "servers": {"every-thing": {**EVERYTHING, "exposure": "direct"}},
        "steps": [call("list_mcp_resource_templates"), call("list_mcp_resources", server="every-thing"), DONE],
    },
    "resources-deferred": {"servers": python("deferred"), "steps": [search("read resource"), call("list_mcp_resources"), DONE]},
    "broken-direct": {"servers": {"bad": {**BROKEN, "exposure": "direct"}, **python("direct", toolExposure={"*": "hidden", "echo": "direct"})}, "steps": [call("mcp__bad__x"), DONE]},
    "broken-codemode": {
        "servers": {"bad": BROKEN, **python("codemode")},
        "steps": [script("return ALL_TOOLS.map(t => t.name)"), script("return await tools.mcp__bad__x({})"), DONE],
    },
    "broken-deferred": {"servers": {"bad": {**BROKEN, "exposure": "deferred"}}, "steps": [search("anything"), DONE]},
    "section": {
        "servers": {
            **python("codemode"),
            "fs": {**FILESYSTEM, "exposure": "deferred", "description": "Files of the project"},
            "every": {**EVERYTHING, "description": "x" * 300},
            "off": {**PYTHON, "enabled": False},
            "mixed": {**PYTHON, "exposure": "direct", "toolExposure": {"*": "hidden", "add": "direct", "echo": "codemode", "fail": "deferred"}},
        },
        "prompts": ["one", "two", "three"],
        "last": True,
        "steps": [script("return (await searchTools('echo')).length"), DONE, DONE, DONE],
    },
    "section-overflow": {
        "servers": {f"server-{number:03}": {**BROKEN, "description": f"{number} " + "y" * 120} for number in range(60)},
        "steps": [DONE],
    },
    "project-override": {
        "servers": {**python("direct"), "off": {**PYTHON, "exposure": "direct"}},
        "project": {"mcpServers": {"py": {"exposure": "deferred", "toolExposure": {"add": "direct"}}, "off": {"enabled": False}}},
        "args": ["--approve"],
        "steps": [DONE],
    },
    "no-auto-codemode": {"servers": python("codemode"), "mcp": {"autoEnableCodemode": False}, "steps": [DONE]},
    "default-codemode": {"servers": {}, "settings": {"defaultTools": ["+codemode"]}, "steps": [script("return await tools.bash({command: 'echo hi'})"), DONE]},
    "mode-only": {"servers": python("direct"), "settings": {"codemode": {"mode": "only"}, "defaultTools": ["+codemode"]}, "steps": [DONE]},
    "codemode-direct": {"servers": python("direct"), "settings": {"defaultTools": ["+codemode"]}, "steps": [DONE]},
    "inline-budget": {"servers": python("direct"), "settings": {"codemode": {"mode": "only", "inlineBudget": 400}, "defaultTools": ["+codemode"]}, "steps": [DONE]},
    "tools-pattern": {"servers": python("direct"), "args": ["--tools", "read,mcp__py__e*"], "steps": [DONE]},
    "tools-plain": {"servers": python("codemode"), "args": ["--tools", "read"], "steps": [DONE]},
    "exclude-tools": {"servers": python("direct"), "args": ["--exclude-tools", "mcp__py__*,bash"], "steps": [DONE]},
    "no-mcp": {"servers": python("direct"), "args": ["--no-mcp"], "steps": [DONE]},
    "scripts": {
        "servers": python("codemode"),
        "steps": [
            script("return await tools.mcp__py__add({terms: [1, 2]})"),
            script("text('a'); text({b: 1}); console.log('c', 1, {d: 2}); console.error('e'); return [1, 'x']"),
            script("return"),
            script("text('kept'); await tools.mcp__py__fail({}); throw new Error('boom')"),
            script("await tools.mcp__py__echo({text: 'x'}); const r = await tools.bash({command: 'exit 3'}); null.x"),
            script("return await tools.bash({command: 'echo out; exit 3'}).then(r => ({...r, wall_time_seconds: 0}))"),
            script("return await tools.read({path: 'hello.txt'})"),
            script("return await tools.write({path: 'w.txt', content: 'w'})"),
            script("return await tools.read({path: 'absent.txt'})"),
            script("return await tools.read({})"),
            script("return await tools.nope({})"),
            script("return await describeTool('mcp__py__add')"),
            script("return await describeTool('bash')"),
            script("return await describeTool('none')"),
            script("return await describeNamespace('py')"),
            script("return await describeNamespace('mcp__none')"),
            script("return await searchTools('echo text', {limit: 2})"),
            script("return await searchTools('add', {namespace: 'py', limit: 1})"),
            script("return ALL_TOOLS"),
            script("store('k', {v: 1}); return load('k')"),
            script("return [load('k'), load('absent')]"),
            script("store('k', 2); throw 'plain'"),
            script("return load('k')"),
            script("text('before'); exit(); text('after')"),
            script("await new Promise(() => {})"),
            script("// @options: {\"timeout_ms\": 300}\nwhile (true) {}"),
            script("// @options: {\"max_output_tokens\": 50}\nreturn 'z'.repeat(4000)"),
            script("1;\n// @options: {\"timeout_ms\": 300}"),
            script("// @options: {bad}\nreturn 1"),
            script("// @options: {\"unknown\": 1}\nreturn 1"),
            script("return await tools.codemode({code: 'return 1'})"),
            script("const ="),
            script("return typeof require + typeof process + typeof fetch + typeof setTimeout + typeof eval"),
            script("const r = await tools.mcp__py__picture({}); image(r.content[1]); return r"),
            script("image('data:image/png;base64,AAAA')"),
            script("image('http://example.com/x.png')"),
            script("return await tools.mcp__py__links({})"),
            script("return await Promise.allSettled([tools.mcp__py__echo({text: 'a'}), tools.mcp__py__echo({text: 5}), tools.mcp__py__fail({})])"),
            script("return await tools.read_mcp_resource({server: 'py', uri: 'memo://note'})"),
            script("return await tools.list_mcp_resources({})"),
            script("return await models.getAvailableOfType('chat')"),
            script("return undefined"),
            script("return 10n"),
            script("return (() => 1)"),
            script("text(undefined); text(null); text(Symbol('s'))"),
            script("```js\nreturn 1\n```"),
            script(""),
            call("codemode"),
            DONE,
        ],
    },
    "scripts-everything": {
        "servers": {"every-thing": EVERYTHING},
        "steps": [
            script("return await tools.mcp__every_thing__get_structured_content({location: 'New York'})"),
            script("return await describeNamespace('every-thing')"),
            script("return await describeTool('mcp__every_thing__get_structured_content')"),
            script("return await searchTools('structured')"),
            DONE,
        ],
    },
    "odd-results": {"servers": odd("direct"), "steps": [*[call(f"mcp__odd__{name}") for name in ODD_RESULTS], DONE]},
    "odd-arguments": {
        "servers": odd("direct"),
        "steps": [
            call("mcp__odd__limits"),
            call("mcp__odd__limits", x=9),
            call("mcp__odd__limits", x="2", y="c", d="no", l=[]),
            call("mcp__odd__limits", x=2.0, z=1),
            call("mcp__odd__references", p={"n": "a", "kids": [{"n": 1}]}),
            call("mcp__odd__map", a="x"),
            call("mcp__odd__map", a=1),
            call("mcp__odd__closed", extra=1),
            call("mcp__odd__closed", c="other"),
            DONE,
        ],
    },
    "odd-resources": {
        "servers": odd("direct"),
        "steps": [
            call("list_mcp_resources"),
            call("list_mcp_resource_templates"),
            *[call("read_mcp_resource", server="odd", uri=uri) for uri in ODD_RESOURCES],
            DONE,
        ],
    },
    "odd-section": {
        "servers": {**odd("codemode"), "zed": {**ODD, "exposure": "deferred", "description": "Line one\nline two"}},
        "prompts": ["one", "two"],
        "last": True,
        "steps": [script("return (await searchTools('unicode')).length"), DONE, DONE],
    },
    "odd-declarations": {
        "servers": odd("codemode"),
        "steps": [*[script(f"return await describeTool('mcp__odd__{name}')") for name in ODD_TOOLS], script("return await describeNamespace('odd')"), DONE],
    },
    "odd-scripts": {
        "servers": odd("codemode"),
        "steps": [
            *[script(f"return await tools.mcp__odd__{name}({{}})") for name in ODD_RESULTS],
            *[script(f"return await tools.read_mcp_resource({{server: 'odd', uri: '{uri}'}})") for uri in ODD_RESOURCES],
            DONE,
        ],
    },
    "values": {
        "servers": {},
        "settings": {"defaultTools": ["+codemode"]},
        "steps": [
            *map(script, [
                "return new Date(0)",
                "text(new Date(0)); text([1]); text(true); text(''); text(NaN); text(new Map([[1, 2]]))",
                "console.log(undefined, true, [1, [2]], Symbol('q'), () => 1, 1n)",
                "return [undefined, () => 1, NaN]",
                "return ''",
                "return {}",
                "return new Set([1])",
                "const a = {}; a.a = a; return a",
                "const a = {}; a.a = a; text(a)",
                "throw null",
                "throw { code: 1 }",
                "throw new TypeError('t')",
                "class Own extends Error { name = 'Own' } throw new Own('o')",
                "Promise.reject(new Error('unhandled')); return 1",
                "exit('bye')",
                "try { exit() } catch { text('caught') } text('after')",
                "store('f', () => 1)",
                "store(5, 1)",
                "load()",
                "store('a', undefined); return load('a')",
                "const o = { x: 1 }; store('o', o); o.x = 2; return load('o')",
                "store('u', 'ü'.repeat(200000)); return load('u').length",
                "return await searchTools('read', { limit: 0 })",
                "return await searchTools('read', { limit: 1.5 })",
                "return await searchTools('read', { namespace: 5 })",
                "return await searchTools(5)",
                "return await describeTool()",
                "return await describeNamespace()",
                "return Object.keys(globalThis).sort()",
                "text = 5; return typeof text",
                "tools.read = 1; delete tools.read; return typeof tools.read",
                "ALL_TOOLS.push(1)",
                "return [typeof URL, typeof TextEncoder, typeof structuredClone, typeof atob, typeof queueMicrotask, typeof Intl]",
                "return await Array.fromAsync([3, 1])",
                "return Object.groupBy([1, 2, 3], (x) => (x % 2 ? 'o' : 'e'))",
                "return await import('fs')",
                "import fs from 'fs'",
                "return 'x'.repeat(30000)",
                "function f() { return f() } f()",
            ]),
            DONE,
        ],
    },  # fmt: skip
}
