/**
 * The part `skills` of `npm run bench`: measures in workerd how much ten thousand published skills cost a turn and a
 * search, and how often a search finds the right skill. The milliseconds depend on the machine.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import * as v from 'valibot';
import { embedSkills } from '../../src/command/skills/embed.ts';
import { wrangler } from '../../src/command/wrangler.ts';
import { demo } from '../../src/core/providers/index.ts';
import { toSkillsKv } from '../../src/core/skill/kv/layout.ts';
import { planSkills } from '../../src/core/skill/kv/plan.ts';
import { readSkills } from '../../src/core/skill/kv/publish.ts';
import { validateMarkdown } from '../../src/core/skill/markdown.ts';
import { corpus } from '../../test/core/skill/corpus.ts';
import { queries } from '../../test/core/skill/queries.ts';
import { recallAt5 } from '../../test/core/skill/recall.ts';
import { root } from '../root.ts';

const count = 10_000;
const repeats = 50;

const valid = corpus.filter(({ text, directory }) => validateMarkdown(text, { directory }).length === 0);
const folders = Array.from({ length: count }, (_, at) => {
	const { text = '', directory = '' } = valid[at % valid.length] ?? {};
	const name = `${directory.slice(0, 50)}-${at}`;
	return { name, path: name, files: { 'SKILL.md': text.replace(/^name:.*$/m, `name: ${name}`) } };
});

const folder = await mkdtemp(join(tmpdir(), 'runlet-bench-'));
const miniflare = new Miniflare({
	modules: [{ type: 'ESModule', path: 'worker.js', contents: await bundle() }],
	compatibilityDate: '2026-07-30',
	kvNamespaces: ['SKILLS'],
	cf: false,
});
try {
	const kv = toSkillsKv(await miniflare.getKVNamespace('SKILLS'));
	const { skills } = await readSkills(folders);
	const embedder = { model: 'demo', providers: [demo()] };
	const vectors = await embedSkills(kv, 'skill:', skills, embedder, () => {});
	const began = performance.now();
	const { index, puts } = await planSkills({ index: null, retired: null, keys: [] }, { skills, problems: [], vectors });
	const planMs = performance.now() - began;
	const shared = puts.filter(([key]) => !key.startsWith('skill:body:'));
	await kv.put([...shared, ...(index ? [index] : [])]);
	const megabytes = (prefix: string) =>
		([...shared, ...(index ? [index] : [])].find(([key]) => key.startsWith(prefix))?.[1].length ?? 0) / 1e6;

	console.log(`skills: ${skills.length} in KV`);
	print('index', `${megabytes('skill:index').toFixed(2)} MB`);
	print('search document', `${megabytes('skill:search').toFixed(2)} MB`);
	print('vectors (256 numbers each)', `${megabytes('skill:vectors').toFixed(2)} MB`);
	print('planning the publishing', `${planMs.toFixed(0)} ms`);

	await ask('turn', 0);
	const cold = await ask('turn', 1);
	print(
		'a turn, cold',
		`${cold.ms.toFixed(1)} ms, ${cold.reads} KV read, ${cold.system} characters in the system prompt`,
	);
	print(
		'a turn, warm',
		`${Math.max(0, await measureEach('turn', 500)).toFixed(3)} ms, ${(await ask('turn', 1)).reads} KV reads`,
	);
	for (const [path, name] of [
		['search', 'full text'],
		['meaning', 'demo embedding'],
	] as const) {
		const first = await ask(path, 1);
		print(`a search by ${name}, the first`, `${first.ms.toFixed(0)} ms, ${first.reads} KV read`);
		print(`a search by ${name}`, `${(await measureEach(path, repeats)).toFixed(2)} ms`);
	}
	print(`recall at 5, ${queries.length} queries over ${corpus.length} skills`, '');
	for (const [way, recall] of Object.entries(recallAt5)) print(`  ${way}`, recall.toFixed(2));
} finally {
	await miniflare.dispose();
	await rm(folder, { recursive: true });
}

function print(what: string, value: string): void {
	console.log(`  ${what.padEnd(44)}${value}`);
}

async function bundle(): Promise<string> {
	const entry = join(root, 'scripts/bench/workers/skills.ts');
	const config = join(folder, 'wrangler.json');
	await writeFile(config, JSON.stringify({ name: 'bench', main: entry, compatibility_date: '2026-07-30' }));
	await wrangler(['deploy', '--dry-run', '--outdir', folder, '--config', config]);
	return readFile(join(folder, 'skills.js'), 'utf8');
}

async function ask(path: string, times: number) {
	const body = JSON.stringify(queries.map(([query]) => query));
	const began = performance.now();
	const response = await miniflare.dispatchFetch(`http://bench/${path}?times=${times}`, { method: 'POST', body });
	const answer = v.parse(v.object({ reads: v.number(), system: v.number(), found: v.number() }), await response.json());
	return { ...answer, ms: performance.now() - began };
}

/** Milliseconds of a warm call: many calls in one request, minus the cost of the request. The best of three. */
async function measureEach(path: string, times: number): Promise<number> {
	let least = Number.POSITIVE_INFINITY;
	for (let round = 0; round < 3; round++) {
		const empty = await ask(path, 0);
		const many = await ask(path, times);
		least = Math.min(least, (many.ms - empty.ms) / times);
	}
	return least;
}
