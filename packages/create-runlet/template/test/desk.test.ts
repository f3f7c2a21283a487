import { deepEqual, equal, match } from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, createTestSession, readSkills } from 'runlet/testing';
import { desk } from '../src/agents/desk.ts';

test('desk reads its tone, looks an order up, and says when it arrives', async () => {
	const session = createTestSession(desk, {
		// What the model answers, turn by turn. Everything else is real.
		script: [
			callTool('read_skill', { name: 'tone' }),
			callTool('find_order', { id: 'A-1042' }),
			'It arrives tomorrow.',
		],
		skills: await readSkills('skills'),
	});
	const { text, steps } = await session.send('Where is my order A-1042?');
	equal(text, 'It arrives tomorrow.');
	match(String(steps[0]?.toolResults[0]?.output), /Begin with the answer/);
	deepEqual(steps[1]?.toolResults[0]?.output, { id: 'A-1042', status: 'sent', arrives: 'tomorrow' });
});
