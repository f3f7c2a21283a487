/** Finding memories by meaning (docs/memory.md, "By meaning"). */
import { env, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import type { Message } from '../../../src/core/chat/index.ts';
import { messageText } from '../../../src/core/chat/message.ts';
import { readHistory } from '../../client.ts';
import { embedding, play } from '../../script.ts';
import { createSessionFor, createUser, deleteMemory, putMemory, say } from './people.ts';

/** Texts about the same subject have near vectors. */
const subjects = [/car|automobile|sedan/i, /meat|vegetarian|beans/i, /bern|capital/i];
const toVector = (text: string) => subjects.map((one) => (one.test(text) ? 1 : 0));
let embedded: string[][] = [];

beforeEach(() => {
	embedded = [];
	embedding.fn = (texts) => {
		embedded.push([...texts]);
		return texts.map(toVector);
	};
});

const readMemory = (user: string) => env.MEMORIES.get(env.MEMORIES.idFromName(JSON.stringify(['local', user])));

async function recall(user: string, text: string, agent = 'keeper-near'): Promise<string[]> {
	const { requests } = play('Yes.');
	expect(await say(await createSessionFor(user, agent), text)).toMatchObject({ status: 'completed' });
	const messages: readonly Message[] = requests[0]?.messages ?? [];
	const newest = messages.findLast(({ role }) => role === 'user');
	const lines = newest === undefined ? [] : messageText(newest).split('\n');
	return lines.filter((line) => line.startsWith('{')).map((line): string => JSON.parse(line).path);
}

test('an agent with an embedding model finds a memory that shares no word with the message', async () => {
	const user = createUser();
	await putMemory(user, 'garage.md', 'Drives an automobile.');
	await putMemory(user, 'food.md', 'Is a vegetarian.');
	expect(await recall(user, 'Which car do I have?')).toEqual(['garage.md']);
	expect(await recall(user, 'Which car do I have?', 'reader')).toEqual([]);
	play({ toolCalls: [{ id: 'r', name: 'recall', input: { query: 'beans' } }] }, 'Yes.');
	const id = await createSessionFor(user, 'keeper-near');
	await say(id, 'Hm.');
	const [result] = (await readHistory(id)).filter(({ role }) => role === 'tool');
	expect(result?.content).toMatchObject({ memories: [{ path: 'food.md' }] });
});

test('ranks a memory first if both its words and its meaning fit', async () => {
	const user = createUser();
	await putMemory(user, 'a.md', 'The car is in the shop.');
	await putMemory(user, 'b.md', 'The sedan is blue.');
	await putMemory(user, 'c.md', 'A shop for beans.');
	expect(await recall(user, 'car shop')).toEqual(['a.md', 'c.md', 'b.md']);
});

test('embeds each version of a memory once, and removes the vector of the earlier version', async () => {
	const user = createUser();
	await putMemory(user, 'garage.md', 'Drives an automobile.');
	await putMemory(user, 'town.md', 'Lives in Bern.');
	await recall(user, 'Which car?');
	await recall(user, 'Which capital?');
	expect(embedded.map((texts) => texts.length)).toEqual([3, 1]);
	await putMemory(user, 'garage.md', 'Has no place to park.');
	await deleteMemory(user, 'town.md');
	expect(await recall(user, 'Which car?')).toEqual([]);
	expect(await recall(user, 'Which capital?')).toEqual([]);
	expect(embedded.slice(2).map((texts) => texts.slice(1))).toEqual([['garage.md\nHas no place to park.'], []]);
	const kept = await runInDurableObject(readMemory(user), (_, { storage }) =>
		storage.sql.exec('SELECT version FROM vector').toArray(),
	);
	expect(kept).toHaveLength(1);
});

test('finds a memory by its meaning even if the memory had no vector yet', async () => {
	const user = createUser();
	await putMemory(user, 'garage.md', 'Drives an automobile.');
	const older = runInDurableObject(readMemory(user), async (_, ctx) => {
		ctx.storage.sql.exec('DELETE FROM vector');
		await ctx.storage.sync();
		ctx.abort('restart');
	});
	await older.catch(() => {});
	expect(await recall(user, 'Which car do I have?')).toEqual(['garage.md']);
});

test('finds memories by their words if the embedding model fails', async () => {
	const user = createUser();
	await putMemory(user, 'garage.md', 'Drives an automobile.');
	await putMemory(user, 'shop.md', 'The car is in the shop.');
	embedding.fn = () => {
		throw new Error('No vectors today.');
	};
	expect(await recall(user, 'Which car?')).toEqual(['shop.md']);
});

test('never reads another person’s vectors', async () => {
	const [user, other] = [createUser(), createUser()];
	await putMemory(other, 'garage.md', 'Drives an automobile.');
	await recall(other, 'Which car?');
	await putMemory(user, 'food.md', 'Is a vegetarian.');
	expect(await recall(user, 'Which car?')).toEqual([]);
});
