import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { startRunlet } from '../runlet.ts';

let server: Awaited<ReturnType<typeof startRunlet>>;
beforeAll(async () => {
	server = await startRunlet();
});
afterAll(() => server?.close());

test('npm start keeps the secrets of tools without any setup, over a restart, and calls them on this machine', async () => {
	const seen: (string | undefined)[] = [];
	const shop = createServer((request, response) => {
		seen.push(request.headers.authorization);
		response.writeHead(200, { 'content-type': 'application/json' }).end('{"orders":3}');
	}).listen(0, '127.0.0.1');
	await once(shop, 'listening');
	const address = shop.address();
	const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/orders`;
	const definition = {
		description: 'Count the orders.',
		inputSchema: { type: 'object', properties: {} },
		url,
		headers: { authorization: `Bearer \${SHOP_TOKEN}` },
	};
	const client = createClient({ baseUrl: server.url });
	const created = await client.putTool('count_orders', { ...definition, secrets: { SHOP_TOKEN: 'open-sesame' } });
	expect(created).toMatchObject({ name: 'count_orders', secretNames: ['SHOP_TOKEN'] });
	await server.restart();
	await client.putTool('count_orders', definition);
	expect(await client.listTools()).toEqual([await client.getTool('count_orders')]);
	expect(JSON.stringify(await client.listTools())).not.toContain('sesame');
	await client.deleteTool('count_orders');
	await expect(client.getTool('count_orders')).rejects.toMatchObject({ code: 'not_found' });
	expect(seen).toEqual([]);
	shop.close();
});

test('npm start says where it is reached, so that the login of an MCP server of an agent comes back to it', async () => {
	const client = createClient({ baseUrl: server.url });
	await client.putMcpServer('tracker', { url: 'https://mcp.example.com/mcp', auth: 'oauth' });
	expect(await client.listMcpServers()).toMatchObject([{ name: 'tracker', isLoggedIn: false }]);
	// The document of a client is for the web: without an address of its own this would be not_configured.
	const response = await fetch(`${server.url}/v1/mcp/client.json`);
	expect({ status: response.status, text: await response.text() }).toMatchObject({
		status: 404,
		text: expect.stringContaining('on a laptop'),
	});
	await client.deleteMcpServer('tracker');
	expect(await client.listMcpServers()).toEqual([]);
});
