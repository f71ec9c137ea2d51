// Written by ui/build.mjs: path, content type, Brotli and gzip bytes of each asset of the page.
&[
    ("/assets/icon-74fb465a9995.svg", "image/svg+xml", include_bytes!("icon-74fb465a9995.svg.br"), include_bytes!("icon-74fb465a9995.svg.gz")),
    ("/assets/page-c1db46779769.js", "text/javascript; charset=utf-8", include_bytes!("page-c1db46779769.js.br"), include_bytes!("page-c1db46779769.js.gz")),
    ("/assets/page-e0dcfde31625.css", "text/css; charset=utf-8", include_bytes!("page-e0dcfde31625.css.br"), include_bytes!("page-e0dcfde31625.css.gz")),
]
