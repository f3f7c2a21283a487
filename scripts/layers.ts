/**
 * The import rules of `src` (CONTRIBUTING, "Layers"). Every file belongs to one module. A file may import from its own module
 * and from modules of lower layers. A module may have inner modules, with the same rule between them.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The layers, the lowest first. Modules of one layer do not import each other. */
const layers: readonly (readonly string[])[] = [
	['core/base'],
	['core/workspace', 'cloudflare/auth', 'cloudflare/log.ts'],
	['core/tool'],
	['core/skill', 'core/toolboxes', 'core/mcp'],
	['core/chat'],
	['core/providers', 'cloudflare/wire'],
	['core/index.ts', 'cloudflare/objects', 'cloudflare/openapi', 'client'],
	['cloudflare/config', 'page', 'react'],
	['cloudflare/agent'],
	['cloudflare/session', 'cloudflare/routes', 'agents'],
	['cloudflare/plugin.ts'],
	[
		'cloudflare/a2a',
		'cloudflare/agui',
		'cloudflare/mcp',
		'cloudflare/memory',
		'cloudflare/schedules',
		'cloudflare/links',
		'cloudflare/traces',
		'cloudflare/messages',
		'cloudflare/responses',
		'cloudflare/files',
		'cloudflare/embeddings',
	],
	['replay', 'command/skills/folder.ts'],
	['command/skills/read.ts'],
	['testing'],
	['evals'],
	['cloudflare/runlet', 'command', 'worker.ts'],
];

/** The layers within a module, the lowest first. `.` stands for the files in no inner module. */
const innerLayers: Readonly<Record<string, readonly (readonly string[])[]>> = {
	'cloudflare/wire': [
		['protocols/webhooks/source.ts', 'protocols/fields.ts'],
		['.'],
		['protocols/openai/schema.ts', 'protocols/openai/completion.ts', 'protocols/webhooks'],
		['protocols/protocol.ts', 'protocols/pieces.ts', 'protocols/client-tools.ts', 'protocols/failure.ts'],
		['protocols/conversation.ts'],
		['protocols/openai', 'protocols/anthropic', 'protocols/ui', 'protocols/mcp'],
		['protocols/format.ts', 'protocols/responses', 'protocols/a2a', 'protocols/files', 'protocols/embeddings'],
	],
	'cloudflare/objects': [
		['shards.ts', 'words.ts'],
		['missing-sqlite.ts', 'migrate.ts', 'platform.ts', 'budget.ts', 'missing.ts', 'once.ts'],
		['reach.ts'],
		['storage.ts', 'file-api.ts', 'link-api.ts', 'outside-call.ts', 'schedule-api.ts', 'upload-api.ts'],
		['session-api.ts'],
		['directory', 'ledger', 'memory', 'publisher'],
	],
	page: [
		['parts'],
		['markdown'],
		[
			'chat',
			'docs',
			'home',
			'inbox',
			'live',
			'memory',
			'menu',
			'palette',
			'servers',
			'sessions',
			'skills',
			'spending',
			'tools',
			'trace',
		],
		['.'],
	],
	'cloudflare/session': [['store'], ['events', 'files'], ['run'], ['inbox'], ['ui'], ['object.ts']],
};

/** Parts of `src` that may import only these modules, and not all lower layers. */
const only: Readonly<Record<string, readonly string[]>> = {
	core: ['core'],
	'cloudflare/agent/shell-isolate.ts': ['core/tool', 'cloudflare/agent/shell-steps.ts'],
	cloudflare: ['core'],
	agents: [],
	client: ['cloudflare/wire'],
	page: ['client'],
	react: ['client'],
	replay: ['core', 'cloudflare'],
	command: ['core', 'client', 'cloudflare/auth', 'cloudflare/wire', 'cloudflare/agent', 'replay', 'testing', 'evals'],
	evals: ['core', 'client', 'cloudflare', 'testing'],
	testing: ['core', 'cloudflare', 'command/skills', 'replay'],
	'worker.ts': ['agents'],
};

/** Files that import the package by its name, as a project does, so that a user can copy them. */
const byName: readonly string[] = ['agents', 'worker.ts'];

/** The operations with the texts, examples and answers of the API's document, which is a file beside the Worker. */
const operations: readonly string[] = [
	'cloudflare/wire/operations',
	'cloudflare/wire/protocols/openai/operations.ts',
	'cloudflare/wire/protocols/anthropic/operations.ts',
	'cloudflare/wire/protocols/responses/operations.ts',
	'cloudflare/wire/protocols/files/operations.ts',
	'cloudflare/wire/protocols/embeddings/operations.ts',
	'cloudflare/wire/protocols/a2a/operations.ts',
];

/**
 * Parts of `src` that may import only types from these modules, so that these parts bundle no code of the
 * modules.
 */
const typesOnly: Readonly<Record<string, readonly string[]>> = {
	client: ['cloudflare'],
	'cloudflare/routes': operations,
	'cloudflare/a2a': operations,
	'cloudflare/agui': operations,
	'cloudflare/mcp': operations,
	'cloudflare/memory': operations,
	'cloudflare/links': operations,
	'cloudflare/messages': operations,
	'cloudflare/responses': operations,
	'cloudflare/files': operations,
	'cloudflare/embeddings': operations,
	'cloudflare/schedules': operations,
};

/** Returns the violations in a folder with a `src`, one line each. */
export function findViolations(root: string): readonly string[] {
	const source = join(root, 'src');
	return listFiles(source).flatMap((file) => {
		const from = findPlace(file);
		if (from === undefined) return [`src/${file}: has no module. Name its module in scripts/layers.ts.`];
		const text = readFileSync(join(source, file), 'utf8');
		const within = listImports(text).flatMap(({ specifier, isType }) => {
			const target = join(dirname(file), specifier);
			const problem = findProblem(file, from, target) ?? findCode(file, target, isType);
			return problem === undefined ? [] : [`src/${file}: imports ${specifier}: ${problem}`];
		});
		const mayName = byName.some((module) => isWithin(file, module));
		const names = mayName ? [] : listNames(text);
		return [...within, ...names.map((name) => `src/${file}: imports ${name}: write its path in src.`)];
	});
}

function listFiles(source: string): readonly string[] {
	return globSync('**/*.{ts,tsx,js}', { cwd: source }).sort();
}

function findProblem(file: string, from: Place, target: string): string | undefined {
	const to = findPlace(target);
	if (to === undefined) return 'this is in no module of src.';
	const part = Object.keys(only).find((name) => isWithin(file, name));
	const allowed = part === undefined ? undefined : [part, ...(only[part] ?? [])];
	if (allowed !== undefined && !allowed.some((module) => isWithin(target, module))) {
		const names = byName.some((module) => isWithin(file, module)) ? ["the package's parts by their names"] : [];
		return `${part} imports ${[...allowed.slice(1), ...names].join(', ')} and nothing else.`;
	}
	if (to.module === from.module) return undefined;
	if (to.outer === from.outer ? to.inner >= from.inner : to.layer >= from.layer)
		return `${from.module} is in a layer below ${to.module}, or in the same layer.`;
	return undefined;
}

function findCode(file: string, target: string, isType: boolean): string | undefined {
	const [part, modules] = Object.entries(typesOnly).find(([name]) => isWithin(file, name)) ?? [];
	if (isType || !modules?.some((module) => isWithin(target, module))) return undefined;
	return `${part} imports types of it only. Write import type.`;
}

interface Place {
	/** The innermost module. */
	readonly module: string;
	/** The outer module, and its layer. */
	readonly outer: string;
	readonly layer: number;
	/** The layer within the outer module. */
	readonly inner: number;
}

function findPlace(file: string): Place | undefined {
	const [outer, layer] = findIn(layers, file) ?? [];
	if (outer === undefined || layer === undefined) return undefined;
	const within = innerLayers[outer]?.map((modules) =>
		modules.map((module) => (module === '.' ? outer : `${outer}/${module}`)),
	);
	const [module, inner] = within === undefined ? [outer, 0] : (findIn(within, file) ?? []);
	return module === undefined || inner === undefined ? undefined : { module, outer, layer, inner };
}

function findIn(list: readonly (readonly string[])[], file: string): [module: string, layer: number] | undefined {
	const found = list.flatMap((modules, layer) =>
		modules.flatMap((module): [[string, number]] | [] => (isWithin(file, module) ? [[module, layer]] : [])),
	);
	return found.toSorted(([one], [other]) => other.length - one.length)[0];
}

function isWithin(file: string, module: string): boolean {
	return file === module || file.startsWith(`${module}/`);
}

interface Import {
	readonly specifier: string;
	/** Whether the import is an `import type` or `export type`. */
	readonly isType: boolean;
	/** The imported names, or `*`. */
	readonly names: readonly string[];
}

/** Finds the relative specifiers after `from` or `import`. */
function listImports(text: string): readonly Import[] {
	const found = text.matchAll(/\b(from|import)\s*\(?\s*(["'`])(\.[^"'`]*)\2/g);
	return [...found].map(({ 1: word, 3: specifier = '', index }) => {
		const before = text.slice(0, index);
		const statement = before.split(/\b(?=(?:import|export)\b)/).at(-1) ?? '';
		const [, list] = /\{([^}]*)\}/.exec(statement) ?? [];
		const names = list?.match(/\w+(?=\s*(?:,|$| as ))(?<!\bas \w+)/g) ?? ['*'];
		return { specifier, isType: word === 'from' && /^\w+\s+type\b/.test(statement), names };
	});
}

/** Finds the parts of the package that are imported by their names. */
function listNames(text: string): readonly string[] {
	const found = text.matchAll(/^(?:import|export)\b[^;"'`]*?\bfrom\s*["'](runlet(?:\/[\w-]+)*)["']/gm);
	return [...found].map(({ 1: name = '' }) => name);
}

if (process.argv[1] === import.meta.filename) {
	const root = resolve(import.meta.dirname, '..');
	const violations = findViolations(root);
	for (const line of violations) console.error(line);
	if (violations.length > 0) process.exitCode = 1;
}
