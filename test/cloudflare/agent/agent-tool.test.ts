import { expect, test } from 'vitest';
import { agentTool, spawn } from '../../../src/cloudflare/agent/agent-tool.ts';
import { tool } from '../../../src/core/index.ts';

const writer = { name: 'good-writer', description: 'Writes.' };

test('a tool that calls an agent has the agent’s name and description by default', () => {
	expect(agentTool(writer)).toMatchObject({ name: 'good_writer', description: 'Writes.', retry: 'safe' });
	expect(agentTool(writer, { name: 'poem', description: 'Writes a poem.' })).toMatchObject({
		name: 'poem',
		description: 'Writes a poem.',
	});
});

test.each([
	['maxDepth', 0],
	['maxAtOnce', 1.5],
	['maxChildren', 0],
	['budget', { tokens: -1 }],
	['background', 'yes'],
])('the error for an invalid option names the option: %s = %j', (field, value) => {
	const refusal = expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(field) });
	expect(() => agentTool(writer, { [field]: value })).toThrow(refusal);
	expect(() => spawn([writer], { [field]: value })).toThrow(refusal);
});

test('spawn describes each of its agents to the model, and accepts no other agent', async () => {
	const critic = { name: 'critic', description: 'Finds faults.' };
	const made = spawn([writer, critic]);
	expect(made).toMatchObject({ name: 'spawn', retry: 'safe' });
	expect(made.description).toContain('- good-writer: Writes.\n- critic: Finds faults.');
	const call = { id: 'c', name: 'spawn', input: { agent: 'stranger', task: 'A poem.' } };
	expect(await tool.dispatch([made], call)).toMatchObject({ isError: true, output: expect.stringMatching(/agent/) });
});

test('spawn refuses a list that has an agent twice', () => {
	const refusal = expect.objectContaining({ code: 'invalid_tool', data: { field: 'agents' } });
	expect(() => spawn([writer, writer])).toThrow(refusal);
});

test('a call outside a session’s run fails with an error that names the reason', async () => {
	const call = { id: 'c', name: 'good_writer', input: { task: 'A poem.' } };
	expect(await tool.dispatch([agentTool(writer)], call)).toMatchObject({
		isError: true,
		output: 'good_writer works in the runs of sessions only.',
	});
});
