/** Files that requests name by their ids, and vectors of texts. */
import { pickCaller } from '../choose.ts';
import { makeMark, type Person, toName } from '../persons.ts';
import { judge } from '../truth.ts';
import type { Walk } from '../walk.ts';
import { refused, toPerson, type Way } from './way.ts';

interface Upload extends Person {
	readonly id: string;
	readonly mark: string;
	isGone: boolean;
}

const uploads = new WeakMap<Walk, Upload[]>();

function listUploads(walk: Walk): Upload[] {
	const all = uploads.get(walk) ?? [];
	uploads.set(walk, all);
	return all;
}

/** Notes that the files of a person are removed with the person. */
export function forgetFiles(walk: Walk, person: Person): void {
	for (const file of listUploads(walk)) if (toName(file) === toName(person)) file.isGone = true;
}

const boundary = 'walk-boundary';

const upload: Way = {
	name: 'upload a file',
	weight: 6,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const person = toPerson(caller);
		const mark = makeMark(person);
		const field = (about: string, value: string) =>
			`--${boundary}\r\ncontent-disposition: form-data; ${about}\r\n\r\n${value}\r\n`;
		const fields = [field('name="purpose"', 'user_data'), field('name="file"; filename="a.txt"', mark)];
		const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
		const body = `${fields.join('')}--${boundary}--\r\n`;
		const ask = () => walk.ask(caller, '/v1/files', { body, headers, only: person });
		const outcome = judge(caller, 'createSession');
		if (outcome !== 'ok' || person === undefined) {
			await refused(walk, 'upload a file', undefined, outcome, ask);
			return true;
		}
		const answer = await ask();
		walk.expect('upload a file', answer, 'ok');
		const { id } = answer.json<{ id: string }>();
		listUploads(walk).push({ id, owner: person.owner, user: person.user, mark, isGone: false });
		return true;
	},
};

/** Reads or deletes a file. It exists only for the person who uploaded it. */
const use: Way = {
	name: 'use a file by its id',
	weight: 8,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const person = toPerson(caller);
		const isTheirs = (file: Upload) => person !== undefined && toName(person) === toName(file);
		const file = walk.pick(listUploads(walk).filter((file) => isTheirs(file) || walk.chance(20)));
		if (file === undefined) return false;
		const method = walk.chance(10) ? 'DELETE' : 'GET';
		const right = method === 'GET' ? 'listSessions' : 'createSession';
		const isOwn = isTheirs(file) && !file.isGone;
		const judged = judge(caller, right);
		const outcome = judged === 'ok' && !isOwn ? 404 : judged;
		const path = `/v1/files/${file.id}${method === 'GET' && walk.chance(70) ? '/content' : ''}`;
		const ask = () => walk.ask(caller, path, { method, only: isOwn ? file : undefined });
		if (outcome !== 'ok') {
			await refused(walk, 'use a file by its id', undefined, outcome, ask);
			return true;
		}
		const answer = await ask();
		walk.expect('use a file by its id', answer, 'ok');
		if (path.endsWith('/content')) walk.check(answer.text === file.mark, `The content of ${file.id} is ${answer.text}`);
		if (method === 'DELETE') file.isGone = true;
		return true;
	},
};

const list: Way = {
	name: 'list files',
	weight: 4,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const person = toPerson(caller);
		const outcome = judge(caller, 'listSessions');
		const answer = await walk.ask(caller, '/v1/files?limit=10000', { only: person });
		walk.expect('list files', answer, outcome);
		if (outcome !== 'ok' || person === undefined) return true;
		const wanted = listUploads(walk).filter((file) => !file.isGone && toName(file) === toName(person));
		const { data } = answer.json<{ data: readonly { readonly id: string }[] }>();
		const ids = (some: readonly { readonly id: string }[]) =>
			some
				.map(({ id }) => id)
				.sort()
				.join(' ');
		walk.check(ids(data) === ids(wanted), `${toName(person)} has other files: ${answer.text}`);
		return true;
	},
};

/** Vectors cost the owner's money, so customers and tokens may not have them made. */
const embed: Way = {
	name: 'make vectors',
	weight: 3,
	go: async (walk) => {
		const caller = pickCaller(walk);
		const outcome = judge(caller, 'makeVectors');
		if (outcome === 'ok') return false;
		const body = { model: 'none', input: makeMark(toPerson(caller)) };
		await refused(walk, 'make vectors', undefined, outcome, () => walk.ask(caller, '/v1/embeddings', { body }));
		return true;
	},
};

export const files: readonly Way[] = [upload, use, list, embed];
