import type { Hono, Env as HonoEnv, Schema } from 'hono';
import { type Document, documentOf } from '../openapi/document.ts';
import { page } from '../openapi/page.ts';
import { getDocs, getDocument } from '../wire/operations/service.ts';
import { serves } from './operation.ts';
import { notAllowed } from './request.ts';

/** Nothing but the page's own stylesheet. */
const policy =
	"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/openapi.json` and `/docs`: the app's routes as a document and as a page. Mounts them on the app itself. */
export function describe<E extends HonoEnv, S extends Schema>(app: Hono<E, S>) {
	let made: Promise<Document> | undefined;
	const document = () => {
		made ??= documentOf(app);
		return made;
	};
	return app
		.get(getDocument.path, serves(getDocument), async (c) => c.json(await document()))
		.all(getDocument.path, notAllowed('GET'))
		.get(getDocs.path, serves(getDocs), async (c) => {
			c.header('content-security-policy', policy);
			return c.html(page(await document(), new URL(c.req.url).origin));
		})
		.all(getDocs.path, notAllowed('GET'));
}
