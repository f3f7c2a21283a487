/** The part of OpenAI's SDK that Runlet uses. The first request loads it. The package holds a copy (scripts/pack/copies.ts). */
export { OpenAI } from 'openai/client';
