// Starts dsh-llm-mock-server, which has no command of its own.
// Arguments: the package's main file, the port, the behaviours separated by commas.
import { pathToFileURL } from 'node:url';
const [main, port, behaviours] = process.argv.slice(2);
const { startMockLlmServer } = await import(pathToFileURL(main).href);
await startMockLlmServer({
  port: Number(port),
  sequence: behaviours.split(','),
  apiKey: 'mock-key',
  toolName: 'get_weather',
  toolArguments: '{"city":"Oslo"}',
});
