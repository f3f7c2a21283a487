import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { toSecretName } from '../../src/cloudflare/config/env.ts';
import { operations } from '../../src/cloudflare/openapi/operations.ts';
import { sourceNames } from '../../src/cloudflare/wire/protocols/webhooks/source.ts';

const root = resolve(import.meta.dirname, '../..');
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: root })];

function read(file: string): string {
	return readFileSync(join(root, file), 'utf8');
}

/** Returns a path without the parts that a reader has to fill in, like `NAME`. */
function withoutPlaceholder(path: string): string {
	return path.replace(/\/?[^/]*\b[A-Z]{2,}\b.*$/, (rest) => (/\b(README|SKILL)\b/.test(rest) ? rest : ''));
}

test.each(pages)('the paths that %s names exist', (page) => {
	// Code blocks are left out, because they name files of the reader.
	const named = read(page)
		.replace(/^```\w*\n.*?^```$/gms, '')
		.matchAll(/(?<![\w./-])(?:src|scripts|test|docs|examples)\/[\w./-]*\w/g);
	const linked = read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g);
	const paths = [
		...[...named].map(([path]) => withoutPlaceholder(path)),
		...[...linked].map(([, path = '']) => join(dirname(page), path)),
	];
	const missing = paths.filter((path) => !existsSync(join(root, path)));
	expect(missing).toEqual([]);
});

test('the tree in CONTRIBUTING lists exactly the folders of src', () => {
	const folders: string[] = [];
	const path: string[] = [];
	const tree = read('CONTRIBUTING.md').matchAll(/^( {4,})([\w./-]+)(?= {2}|$)/gm);
	for (const [, indent = '', name = ''] of tree) {
		path.length = indent.length / 2 - 2;
		path.push(name.replace(/\/$/, ''));
		if (path[0] === 'src' && path.length > 1) folders.push(path.join('/'));
	}
	expect(folders.filter((one) => !existsSync(join(root, one)))).toEqual([]);
	const rooms = globSync(['src/*', 'src/{core,cloudflare}/*'], { cwd: root, exclude: ['src/tsconfig.json'] });
	expect([...folders].sort()).toEqual(rooms.sort());
});

test('every section that a comment refers to exists', () => {
	const headings = new Map(
		pages.map((page) => [page, [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)]),
	);
	const files = globSync('{src,scripts,test}/**/*.{ts,js,mjs}', { cwd: root, exclude: ['test/fixtures/**'] });
	const wrong = files.flatMap((file) => {
		const text = read(file).replace(/\s*\n\s*(?:\*|\/\/) ?/g, ' ');
		const named = [...text.matchAll(/\b(README|CONTRIBUTING|docs\/[\w-]+\.md)(?:, "([^"]+)")?\)/g)];
		return named.flatMap(([all, page = '', section]) => {
			const known = headings.get(page.endsWith('.md') ? page : `${page}.md`);
			const isThere = known !== undefined && (section === undefined || known.includes(section));
			return isThere ? [] : [`${file}: ${all}`];
		});
	});
	expect(wrong).toEqual([]);
});

/** Returns the line of a page in llms.txt: its title and its first sentence. */
function toEntry(page: string): string {
	const [, title = '', sentence = ''] = /^# (.+)\n\n(?:## .+\n\n)?([\s\S]+?[.:])(?=\s)/.exec(read(page)) ?? [];
	const plain = sentence
		.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
		.replaceAll('\n', ' ')
		.replace(/:$/, '.');
	return `- [${title}](${page}): ${plain}`;
}

test('llms.txt lists every page with its first sentence', () => {
	const listed = read('llms.txt')
		.split('\n')
		.filter((line) => line.startsWith('- '));
	expect(listed.toSorted()).toEqual(globSync('docs/*.md', { cwd: root }).map(toEntry).toSorted());
});

test('README links to every page', () => {
	const linked = [...read('README.md').matchAll(/\]\((docs\/[\w-]+\.md)\)/g)].map(([, page]) => page);
	expect([...new Set(linked)].sort()).toEqual(globSync('docs/*.md', { cwd: root }).sort());
});

test('docs/api.md lists the status of every error code', () => {
	const statuses = [...read('src/core/base/errors.ts').matchAll(/^\t(\w+): (\d{3}),$/gm)];
	const rows = [...read('docs/api.md').matchAll(/^\| ((?:`\d{3}`(?:, )?)+) \| (.*?) \|/gm)];
	const named = new Map(
		rows.flatMap(([, status = '', codes = '']) => [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => [code, status])),
	);
	const abbreviated = /^(invalid_argument|invalid_tool|invalid_skill|invalid_agent|duplicate_tool|duplicate_skill)$/;
	const wrong = statuses.filter(
		([, code = '', status = '']) => !abbreviated.test(code) && !named.get(code)?.includes(status),
	);
	expect(wrong.map(([, code]) => code)).toEqual([]);
});

test('docs/environment.md lists every variable', () => {
	const names = [...read('src/cloudflare/config/env.ts').matchAll(/readonly ([A-Z][A-Z_]+)\??:/g)].map(
		([, name = '']) => name,
	);
	const page = read('docs/environment.md');
	expect(names.length).toBeGreaterThan(15);
	names.push(...sourceNames.map(toSecretName));
	expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('docs/webhooks.md lists every source of webhooks', () => {
	const page = read('docs/webhooks.md');
	expect(sourceNames.filter((name) => !page.includes(`| \`${name}\``))).toEqual([]);
});

test('docs/api.md lists every route', () => {
	const page = read('docs/api.md');
	// If a resource has several routes, the page writes only the last word of each further route.
	const toWord = (path: string) => path.split('/').findLast((part) => !part.startsWith(':'));
	const lost = Object.values(operations).filter(({ path }) => !new RegExp(`/${toWord(path)}\\b`).test(page));
	expect(lost.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

/** Lists the fields of an interface, without nested fields. */
function listFields(file: string, name: string): readonly string[] {
	const [, body = ''] = new RegExp(`^export interface ${name} .*?\\{$(.*?)^\\}$`, 'ms').exec(read(file)) ?? [];
	return [...body.matchAll(/^\t(?:readonly )?(\w+)(?:\?|\()?.*[:(]/gm)].map(([, field = '']) => field);
}

test.each([
	['src/cloudflare/agent/define.ts', 'AgentDefinition', 'docs/agents.md'],
	['src/cloudflare/runlet/options.ts', 'RunletOptions', 'docs/own-worker.md'],
	['src/core/tool/tool.ts', 'ToolContext', 'docs/tools.md'],
	['src/core/tool/tool.ts', 'Tool', 'docs/tools.md'],
])('%s: every field of %s is documented in %s', (file, name, page) => {
	const fields = listFields(file, name);
	expect(fields.length).toBeGreaterThan(4);
	const text = read(page);
	expect(fields.filter((field) => !new RegExp(`\`${field}\\b`).test(text))).toEqual([]);
});
