import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, createTestSession } from 'runlet/testing';
import { desk } from '../src/agents/desk.ts';

test('desk looks an order up, and says when it arrives', async () => {
	const session = createTestSession(desk, {
		// What the model answers, turn by turn. Everything else is real.
		script: [callTool('find_order', { id: 'A-1042' }), 'It arrives tomorrow.'],
	});
	const { text, steps } = await session.send('Where is my order A-1042?');
	equal(text, 'It arrives tomorrow.');
	deepEqual(steps[0]?.toolResults[0]?.output, { id: 'A-1042', status: 'sent', arrives: 'tomorrow' });
});
