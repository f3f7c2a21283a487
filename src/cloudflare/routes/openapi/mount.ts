import type { Hono, Schema } from 'hono';
import { getDocs, getDocument } from '../../wire/operations/service.ts';
import type { RouteEnv } from '../identity.ts';
import { serveOperation } from '../operation.ts';
import { refuseMethod } from '../request.ts';
import { createDocument, type Document } from './document.ts';
import { renderPage } from './page.ts';

/** Allows only the page's own stylesheets. */
const policy =
	"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Mounts `/openapi.json` and `/docs` on the app: its routes as a document and as a page, under a base path. */
export function describe<S extends Schema>(app: Hono<RouteEnv, S>, basePath: string) {
	let made: Document | undefined;
	const document = () => {
		made ??= createDocument(app, basePath);
		return made;
	};
	return app
		.get(getDocument.path, serveOperation(getDocument), (c) => c.json(document()))
		.all(getDocument.path, refuseMethod('GET'))
		.get(getDocs.path, serveOperation(getDocs), (c) => {
			c.header('content-security-policy', policy);
			return c.html(renderPage(document(), { origin: new URL(c.req.url).origin, basePath }));
		})
		.all(getDocs.path, refuseMethod('GET'));
}
