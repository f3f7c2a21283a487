import { html, raw } from 'hono/html';
import type { Document } from './document.ts';
import type { JsonSchema } from './json-schema.ts';
import { fieldsHtml, renderProse, typeHtml } from './schema-html.ts';
import type { Spec } from './spec.ts';

type Html = ReturnType<typeof html>;

interface Place {
	readonly path: string;
	readonly method: string;
	readonly spec: Spec;
}

/** Makes an HTML id, which must not have spaces. */
const tagId = (name: string) => `tag-${name.replaceAll(' ', '-')}`;

/**
 * Renders the document as HTML. Its addresses are relative to `/docs`, and its curl lines begin with `$RUNLET_URL`. The
 * page is complete without its script, which adds search and requests (`src/page/docs`).
 */
export function renderPage(document: Document): string {
	const { info, tags, components, paths } = document;
	const places: readonly Place[] = Object.entries(paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, spec]) => ({ path, method, spec })),
	);
	const groups = tags.map((tag) => ({ ...tag, places: places.filter(({ spec }) => spec.tags.includes(tag.name)) }));
	const schemas = Object.entries(components.schemas ?? {});
	const page = html`${raw('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="./theme.css">
<link rel="stylesheet" href="./docs.css">
<script src="./theme.js"></script>
<script type="module" src="./docs.js"></script>
</head>
<body>
<nav aria-label="Operations">
<p class="home"><a href="./">${info.title}</a> <span>${info.version}</span></p>
<details id="contents" open>
<summary>Operations</summary>
${groups.map(
	({ name, places }) => html`<h2><a href="#${tagId(name)}">${name}</a></h2>
<ul>${places.map(({ spec }) => html`<li><a href="#${spec.operationId}">${spec.summary}</a></li>`)}</ul>`,
)}
<h2><a href="#schemas">Schemas</a></h2>
</details>
</nav>
<main>
<header>
<h1>The API</h1>
${info.description.split('\n\n').map((paragraph) => html`<p>${renderProse(paragraph)}</p>`)}
<p>In the lines for the shell <code>RUNLET_URL</code> is the address of the Worker, and <code>RUNLET_API_KEY</code> a key.</p>
<p>For machines: <a href="./openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
</header>
${groups.map(
	({ name, description, places }) => html`<section class="group" id="${tagId(name)}">
<h2>${name}</h2>
<p>${description}</p>
${places.map((place) => operationHtml(place, document))}
</section>`,
)}
<section class="group" id="schemas">
<h2>Schemas</h2>
${schemas.map(
	([name, schema]) => html`<article id="schema-${name}">
<h3><a href="#schema-${name}">${name}</a></h3>
${descriptionHtml(schema)}${renderBody(schema)}
</article>`,
)}
</section>
</main>
</body>
</html>`;
	return String(page);
}

function operationHtml({ path, method, spec }: Place, { components }: Document): Html {
	const parameters = spec.parameters.map((one) => resolveRefs(one, components));
	return html`<article id="${spec.operationId}" data-method="${method}" data-path="${path}">
<h3><a href="#${spec.operationId}">${spec.summary}</a></h3>
<p class="place"><b class="method method-${method}">${method.toUpperCase()}</b> <code>${path}</code></p>
${spec.description === undefined ? html`` : html`<p>${renderProse(spec.description)}</p>`}
<p class="access">${describeAccess(spec)}</p>
<pre tabindex="0"><code>${toCurl(path, method, spec)}</code></pre>
${parameters.length === 0 ? html`` : html`<h4>Parameters</h4>${parametersHtml(parameters)}`}
${contentHtml('Body', spec.requestBody?.content)}
<h4>Answers</h4>
${Object.entries(spec.responses).map(([status, response]) => responseHtml(status, resolveRefs(response, components)))}
</article>`;
}

function parametersHtml(parameters: readonly JsonSchema[]): Html {
	return html`<dl class="fields">${parameters.map(
		({ name, in: where, required, description, schema }) => html`<div>
<dt><code>${name}</code><span class="optional">${where}${required === true ? '' : ', optional'}</span><span class="type">${typeHtml(Object(schema))}</span></dt>
<dd>${typeof description === 'string' ? html`<p>${renderProse(description)}</p>` : html``}</dd>
</div>`,
	)}</dl>`;
}

function responseHtml(status: string, { description, content, headers }: JsonSchema): Html {
	return html`<details>
<summary><b class="status status-${status.charAt(0)}">${status === 'default' ? 'else' : status}</b> ${renderProse(String(description))}</summary>
${Object.entries(Object(headers)).map(([name, header]) => html`<p>Header <code>${name}</code>: ${Object(header).description}</p>`)}
${contentHtml(undefined, Object(content))}
</details>`;
}

function contentHtml(title: string | undefined, content: Readonly<Record<string, JsonSchema>> = {}): Html {
	return html`${Object.entries(content).map(([type, { schema, example, examples }]) => {
		const texts =
			example === undefined
				? []
				: [['', typeof example === 'string' ? example : JSON.stringify(example, null, 2)] as const];
		const values = Object.entries(Object(examples)).map(
			([name, one]) => [name, JSON.stringify(Object(one).value, null, 2)] as const,
		);
		const all = [...texts, ...values];
		return html`${title === undefined ? html`` : html`<h4>${title}</h4>`}
<p class="media"><code>${type}</code> <span class="type">${typeHtml(Object(schema))}</span></p>
${descriptionHtml(Object(schema))}${fieldsHtml(Object(schema))}
${all.map(
	([name, text]) =>
		html`${all.length > 1 ? html`<p class="media">${name}</p>` : html``}<pre tabindex="0"><code>${text}</code></pre>`,
)}`;
	})}`;
}

function renderBody(schema: JsonSchema): Html {
	const fields = fieldsHtml(schema);
	return String(fields) === '' ? html`<p class="type">${typeHtml(schema)}</p>` : fields;
}

function descriptionHtml({ description }: JsonSchema): Html {
	return typeof description === 'string' ? html`<p>${renderProse(description)}</p>` : html``;
}

function describeAccess({ security, responses }: Spec): string {
	if (security.length === 0) return '401' in responses ? 'For a sender whose signature is valid.' : 'For anybody.';
	if (security.some((one) => 'sessionToken' in one)) return 'With an API key, or the session’s token.';
	const [scope] = security.flatMap(({ apiKey = [] }) => apiKey);
	return `With an API key${scope === undefined ? '' : ` that has the scope ${scope}`}.`;
}

function resolveRefs(value: JsonSchema, components: Document['components']): JsonSchema {
	if (typeof value.$ref !== 'string') return value;
	const [kind = '', name = ''] = value.$ref.split('/').slice(2);
	return components[kind]?.[name] ?? value;
}

/** Path parameters are in capitals. */
function toCurl(path: string, method: string, { requestBody, security, responses }: Spec): string {
	const place = path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
	const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
	const streams = JSON.stringify(responses['200'] ?? {}).includes('text/event-stream') && type === undefined;
	const data = media === undefined ? undefined : exampleIn(media);
	return [
		`curl${streams ? ' -N' : ''}${method === (data === undefined ? 'get' : 'post') ? '' : ` -X ${method.toUpperCase()}`} "$RUNLET_URL${place}"`,
		...(security.length > 0 ? ['-H "authorization: Bearer $RUNLET_API_KEY"'] : []),
		...(type === undefined ? [] : [`-H ${quote(`content-type: ${type}`)}`]),
		...(data === undefined ? [] : [`--data-binary ${quote(data)}`]),
	].join(' \\\n  ');
}

function exampleIn({ example, examples }: Readonly<Record<string, unknown>>): string | undefined {
	if (example !== undefined) return typeof example === 'string' ? example : JSON.stringify(example);
	const [first] = Object.values(Object(examples));
	return first === undefined ? undefined : JSON.stringify(Object(first).value);
}

function quote(text: string): string {
	return `'${text.replaceAll("'", "'\\''")}'`;
}
