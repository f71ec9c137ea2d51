// Written by ui/build.mjs: path, content type, Brotli and gzip bytes of each asset of the page.
&[
    ("/assets/icon-74fb465a9995.svg", "image/svg+xml", include_bytes!("icon-74fb465a9995.svg.br"), include_bytes!("icon-74fb465a9995.svg.gz")),
    ("/assets/page-af010ef17352.css", "text/css; charset=utf-8", include_bytes!("page-af010ef17352.css.br"), include_bytes!("page-af010ef17352.css.gz")),
    ("/assets/page-b645bad8db0b.js", "text/javascript; charset=utf-8", include_bytes!("page-b645bad8db0b.js.br"), include_bytes!("page-b645bad8db0b.js.gz")),
]
