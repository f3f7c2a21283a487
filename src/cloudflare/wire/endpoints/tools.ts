import { createEndpoint } from '../endpoint.ts';
import { toolBody } from '../tool.ts';

export const listTools = createEndpoint('get', '/v1/tools', { access: 'setUp' });

export const getTool = createEndpoint('get', '/v1/tools/:name', { access: 'setUp' });

export const putTool = createEndpoint('put', '/v1/tools/:name', { access: 'setUp', json: toolBody });

export const deleteTool = createEndpoint('delete', '/v1/tools/:name', { access: 'setUp' });
