/**
 * The import rules of `src` (CONTRIBUTING, "The house"). Every file belongs to one room. A file may import from its own
 * room and from lower floors, and from nowhere else. A room may have rooms of its own, with the same rule between them.
 * `node scripts/house.ts --count` prints who imports from whom, and how many names.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The floors, from the ground up. Rooms of one floor do not import each other. */
const floors: readonly (readonly string[])[] = [
	['core/ground'],
	['core/workspace', 'cloudflare/auth', 'cloudflare/log.ts'],
	['core/tool'],
	['core/skill', 'core/toolboxes', 'core/mcp'],
	['core/chat'],
	['core/providers', 'cloudflare/wire'],
	['core/index.ts', 'cloudflare/objects', 'cloudflare/openapi', 'client'],
	['cloudflare/config', 'page'],
	['cloudflare/agent'],
	['cloudflare/session', 'cloudflare/routes', 'agents'],
	['cloudflare/mcp', 'cloudflare/memory', 'cloudflare/schedules', 'cloudflare/links'],
	['cloudflare/runlet', 'command', 'worker.ts'],
	['testing'],
];

/** The floors within a room, from the ground up. `.` is what stands in none of its rooms. */
const floorsWithin: Readonly<Record<string, readonly (readonly string[])[]>> = {
	'cloudflare/wire': [
		['.'],
		['protocols/openai/schema.ts', 'protocols/openai/completion.ts', 'protocols/webhooks'],
		['protocols/protocol.ts'],
		['protocols/openai', 'protocols/ui', 'protocols/mcp'],
		['protocols/format.ts'],
	],
	'cloudflare/objects': [
		[
			'missing-sqlite.ts',
			'migrate.ts',
			'durable-object.ts',
			'budget.ts',
			'result.ts',
			'missing.ts',
			'once.ts',
			'admission.ts',
		],
		['storage.ts', 'reach.ts', 'file-api.ts', 'link-api.ts', 'outside-call.ts', 'schedule-api.ts', 'room.ts'],
		['session-api.ts'],
		['directory', 'ledger', 'memory', 'publisher'],
	],
	page: [
		['parts'],
		['markdown'],
		['chat', 'docs', 'inbox', 'live', 'memory', 'menu', 'servers', 'sessions', 'skills', 'spending', 'tools', 'trace'],
		['.'],
	],
	'cloudflare/session': [['store'], ['events', 'files'], ['run'], ['inbox'], ['ui'], ['object.ts']],
};

/** What a wing may import from other wings, if that is less than everything below it. */
const only: Readonly<Record<string, readonly string[]>> = {
	core: ['core'],
	'cloudflare/agent/shell-isolate.ts': ['core/tool', 'cloudflare/agent/shell-steps.ts'],
	cloudflare: ['core'],
	agents: [],
	client: ['cloudflare/wire'],
	page: ['client'],
	command: ['core', 'client', 'cloudflare/auth', 'cloudflare/wire'],
	testing: ['core', 'cloudflare', 'command/skills'],
	'worker.ts': ['agents'],
};

/** What is yours imports the package by its name, as in a project of its own, so that each file can be copied out. */
const byName: readonly string[] = ['agents', 'worker.ts'];

/** The rooms from which a wing imports only types, so that it bundles none of their code. */
const typesOnly: Readonly<Record<string, readonly string[]>> = { client: ['cloudflare'] };

/** Returns the violations in a folder with a `src`, one line each. */
export function findViolations(root: string): readonly string[] {
	const source = join(root, 'src');
	return listFiles(source).flatMap((file) => {
		const from = findFloor(file);
		if (from === undefined) return [`src/${file}: has no room. Name its room in scripts/house.ts.`];
		const text = readFileSync(join(source, file), 'utf8');
		const within = listImports(text).flatMap(({ specifier, isType }) => {
			const target = join(dirname(file), specifier);
			const problem = findProblem(file, from, target) ?? findCode(file, target, isType);
			return problem === undefined ? [] : [`src/${file}: imports ${specifier}: ${problem}`];
		});
		const mayName = byName.some((room) => isWithin(file, room));
		const names = mayName ? [] : listNames(text);
		return [...within, ...names.map((name) => `src/${file}: imports ${name}: write its path in src.`)];
	});
}

/** Counts the arrows between the rooms of `floors`: what a room imports from another, and how many names. */
export function countArrows(root: string): readonly (readonly [arrow: string, names: number])[] {
	const source = join(root, 'src');
	const arrows = new Map<string, Set<string>>();
	for (const file of listFiles(source))
		for (const { specifier, names } of listImports(readFileSync(join(source, file), 'utf8'))) {
			const target = join(dirname(file), specifier);
			const [from, to] = [findFloor(file)?.house, findFloor(target)?.house];
			if (from === undefined || to === undefined || from === to) continue;
			const known = arrows.get(`${from} -> ${to}`) ?? new Set();
			for (const name of names) known.add(`${target} ${name}`);
			arrows.set(`${from} -> ${to}`, known);
		}
	return [...arrows].map(([arrow, names]) => [arrow, names.size] as const).sort(([, a], [, b]) => a - b);
}

function listFiles(source: string): readonly string[] {
	return globSync('**/*.{ts,tsx,js}', { cwd: source }).sort();
}

function findProblem(file: string, from: Place, target: string): string | undefined {
	const to = findFloor(target);
	if (to === undefined) return 'this is in no room of src.';
	const wing = Object.keys(only).find((name) => isWithin(file, name));
	const allowed = wing === undefined ? undefined : [wing, ...(only[wing] ?? [])];
	if (allowed !== undefined && !allowed.some((room) => isWithin(target, room))) {
		const names = byName.some((room) => isWithin(file, room)) ? ["the package's parts by their names"] : [];
		return `${wing} imports ${[...allowed.slice(1), ...names].join(', ')} and nothing else.`;
	}
	if (to.room === from.room) return undefined;
	if (to.house === from.house ? to.inner >= from.inner : to.floor >= from.floor)
		return `${from.room} stands below ${to.room}, or beside it.`;
	return undefined;
}

function findCode(file: string, target: string, isType: boolean): string | undefined {
	const [wing, rooms] = Object.entries(typesOnly).find(([name]) => isWithin(file, name)) ?? [];
	if (isType || !rooms?.some((room) => isWithin(target, room))) return undefined;
	return `${wing} imports types of it only. Write import type.`;
}

interface Place {
	/** The innermost room. */
	readonly room: string;
	/** The outer room, and its floor. */
	readonly house: string;
	readonly floor: number;
	/** The floor within the outer room. */
	readonly inner: number;
}

function findFloor(file: string): Place | undefined {
	const [house, floor] = findIn(floors, file) ?? [];
	if (house === undefined || floor === undefined) return undefined;
	const within = floorsWithin[house]?.map((rooms) => rooms.map((room) => (room === '.' ? house : `${house}/${room}`)));
	const [room, inner] = within === undefined ? [house, 0] : (findIn(within, file) ?? []);
	return room === undefined || inner === undefined ? undefined : { room, house, floor, inner };
}

function findIn(list: readonly (readonly string[])[], file: string): [room: string, floor: number] | undefined {
	const found = list.flatMap((rooms, floor) =>
		rooms.flatMap((room): [[string, number]] | [] => (isWithin(file, room) ? [[room, floor]] : [])),
	);
	return found.toSorted(([one], [other]) => other.length - one.length)[0];
}

function isWithin(file: string, room: string): boolean {
	return file === room || file.startsWith(`${room}/`);
}

interface Import {
	readonly specifier: string;
	/** Whether the import is an `import type` or `export type`. */
	readonly isType: boolean;
	/** What it names, or `*`. */
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
	if (process.argv[2] === '--count') {
		const arrows = countArrows(root);
		for (const [arrow, names] of arrows) console.log(`${arrow} (${names})`);
		console.log(`${floors.flat().length} rooms on ${floors.length} floors, ${arrows.length} arrows between them`);
	}
	const violations = findViolations(root);
	for (const line of violations) console.error(line);
	if (violations.length > 0) process.exitCode = 1;
}
